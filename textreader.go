package weir

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A textReader reads the text form of a policy, a word at a time. After a first error, which it
// keeps, there are no more words, so that whoever reads need not look.
type textReader struct {
	text  string
	depth int // of the policy that is being read
	err   error

	word string // the word that is next, or one of "(", ")" and ","; empty at the end
	at   int    // where it starts
	last int    // where the word before it ended
}

// next moves on by a word.
func (r *textReader) next() {
	r.last = r.at + len(r.word)
	rest := strings.TrimLeft(r.text[r.last:], textSpace)
	r.at = len(r.text) - len(rest)
	end := strings.IndexAny(rest, textSpace+textMarks)
	switch {
	case end < 0:
		end = len(rest)
	case end == 0:
		end = 1 // a mark
	}
	r.word = rest[:end]
}

const (
	textSpace = " \t\r\n"
	textMarks = "(),"
)

// fail keeps the error that the next word is not what it must be.
func (r *textReader) fail(must string) { r.failAt(r.at, r.word, "must be "+must) }

// failAt is fail for any place and part of the text.
func (r *textReader) failAt(at int, part, what string) {
	if r.err != nil {
		return
	}
	where := "the end"
	if at < len(r.text) {
		where = strconv.Quote(part)
	}
	r.err = fmt.Errorf("weir: policy %q: at byte %d, %s: %s", r.text, at, where, what)
	r.word = ""
}

// policy reads a policy that New does not refuse.
func (r *textReader) policy() Policy {
	start := r.at
	p := r.fields(r.kind())
	if r.err != nil {
		return nil
	}
	if _, err := p.Decider(); err != nil {
		faults := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "weir: "), "\nweir: ", "; ")
		r.failAt(start, r.text[start:r.last], faults)
		return nil
	}
	return p
}

// kind reads the name of a kind, and returns a zero policy. It is of the first kind if there is a rate in
// place of a name.
func (r *textReader) kind() Policy {
	if strings.Contains(r.word, "/") {
		return textKinds[0].policy
	}
	allowed := []string{"a rate such as 100/1m"}
	for _, k := range textKinds {
		if k.name == r.word {
			r.next()
			return k.policy
		}
		allowed = append(allowed, k.name)
	}
	r.fail(anyOf(allowed))
	return nil
}

// fields reads what comes after the name of the kind of p.
func (r *textReader) fields(p Policy) Policy {
	switch p.(type) {
	case nil:
		return nil
	case all:
		return All(r.parts()...)
	case tiers:
		return Tiers(r.parts()...)
	case TwoRateMarker:
		return r.twoRates()
	}
	v := reflect.New(reflect.TypeOf(p)).Elem()
	limit, per, options := textFields(v)
	r.rate(limit, per)
	r.options(options)
	return v.Interface().(Policy)
}

// twoRates reads the buckets of a TwoRateMarker.
func (r *textReader) twoRates() Policy {
	start := r.at
	parts := r.parts()
	if r.err != nil {
		return nil
	}
	if len(parts) == 2 {
		committed, ok := parts[0].(TokenBucket)
		peak, too := parts[1].(TokenBucket)
		if ok && too {
			return TwoRateMarker{committed, peak}
		}
	}
	r.failAt(start, r.text[start:r.last], "must be two token-buckets, committed and peak")
	return nil
}

// parts reads the policies that a policy is composed of, in brackets.
func (r *textReader) parts() []Policy {
	if r.word != "(" {
		r.fail(`"("`)
		return nil
	}
	if r.depth++; r.depth > maxPolicyDepth {
		r.fail(fmt.Sprintf("at most %d deep in brackets", maxPolicyDepth))
		return nil
	}
	var parts []Policy
	for r.word == "(" || r.word == "," {
		r.next()
		parts = append(parts, r.policy())
	}
	if r.word != ")" {
		r.fail(`"," or ")"`)
		return nil
	}
	r.next()
	r.depth--
	return parts
}

// rate reads events per duration, or per unit of the calendar.
func (r *textReader) rate(limit, per reflect.Value) {
	count, value, ok := strings.Cut(r.word, "/")
	if !ok {
		r.fail("a rate such as 100/1m")
		return
	}
	n, ok := parseCount(count)
	if !ok {
		r.failAt(r.at, count, fmt.Sprintf("must be a whole number from 1 to %d", math.MaxInt))
		return
	}
	at := r.at + len(count) + 1
	r.next()
	limit.SetInt(int64(n))
	if per.Type() == reflect.TypeFor[Unit]() {
		if per.SetUint(uint64(max(slices.Index(unitNames[:], value), 0))); per.IsZero() {
			r.failAt(at, value, "must be "+anyOf(unitNames[Minute:]))
		}
		return
	}
	length, ok := parsePer(value)
	per.SetInt(int64(length))
	switch {
	case ok:
	case tooLong(value):
		r.failAt(at, value, "must be at most "+longestPer)
	default:
		r.failAt(at, value, "must be a duration such as 10ms, 1s, 1m, 1h30m, 1d or 1w")
	}
}

// options reads the rest of a policy. Options can be in any order, each once at most.
func (r *textReader) options(allowed []textOption) {
	for r.word != "" && (r.depth == 0 || r.word != "," && r.word != ")") {
		name, value, has := strings.Cut(r.word, "=")
		i := slices.IndexFunc(allowed, func(o textOption) bool {
			return o.name == name && has == (o.Kind() != reflect.Bool)
		})
		if i < 0 {
			r.fail(r.afterRate(allowed))
			return
		}
		if must := allowed[i].set(value); must != "" {
			r.failAt(r.at+len(name)+1, value, "must be "+must)
			return
		}
		allowed = slices.Delete(allowed, i, i+1)
		r.next()
	}
}

// afterRate is what may stand after a rate, for errors.
func (r *textReader) afterRate(options []textOption) string {
	var allowed []string
	for _, o := range options {
		allowed = append(allowed, o.form())
	}
	if r.depth > 0 {
		return anyOf(append(allowed, `","`, `")"`))
	}
	return anyOf(append(allowed, "the end"))
}

// anyOf is "a, b or c".
func anyOf(words []string) string {
	n := len(words) - 1
	if n == 0 {
		return words[0]
	}
	return strings.Join(words[:n], ", ") + " or " + words[n]
}

// parseCount reads a number of digits alone.
func parseCount(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, strconv.IntSize-1)
	return int(n), err == nil
}
