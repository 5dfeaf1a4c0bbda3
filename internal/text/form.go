package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Form is the text of a policy after the name of its kind.
type Form interface {
	// Read sets the fields to what r reads.
	Read(r *Reader)

	// String returns the fields as Read reads them, such as " 100/1m burst=20" or "(1/1s, 2/1s)".
	String() string
}

// Rate is the form of a policy with a rate, which is limit events in the time per, and options in
// any order.
func Rate(limit *int, per Value, options ...Option) Form { return rate{limit, per, options} }

type rate struct {
	limit   *int
	per     Value
	options []Option
}

const aRate = "a rate such as 100/1m"

func (f rate) String() string {
	s := " " + strconv.Itoa(*f.limit) + "/" + f.per.String()
	for _, o := range f.options {
		s += o.String()
	}
	return s
}

func (f rate) Read(r *Reader) {
	count, per, ok := strings.Cut(r.word, "/")
	if !ok {
		r.fail(aRate)
		return
	}
	at := r.at
	if *f.limit, ok = parseCount(count); !ok {
		r.failAt(at, count, "must be "+aCount)
	}
	r.next()
	if must := f.per.Set(per); must != "" {
		r.failAt(at+len(count)+1, per, "must be "+must)
	}
	for options := f.options; !r.ended(); {
		i := slices.IndexFunc(options, func(o Option) bool { return o.matches(r.word) })
		if i < 0 {
			r.fail(afterRate(options, r.depth > 0))
			return
		}
		options[i].read(r)
		options = slices.Concat(options[:i], options[i+1:])
	}
}

// afterRate is what may stand after a rate, for errors.
func afterRate(options []Option, inList bool) string {
	var allowed []string
	for _, o := range options {
		allowed = append(allowed, o.usage())
	}
	if inList {
		return anyOf(append(allowed, `","`, `")"`))
	}
	return anyOf(append(allowed, "the end"))
}

// A List is the form of a policy that other policies make up: a list of them in brackets.
type List[P any] struct {
	Parts []P
	Text  func(P) string
	Parse func(*Reader) P

	// Set sets the fields to the parts that were read. If these parts are not allowed, it returns
	// what they must be.
	Set func(parts []P) (must string)
}

func (f List[P]) String() string {
	texts := make([]string, len(f.Parts))
	for i, p := range f.Parts {
		texts[i] = f.Text(p)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// Read implements [Form].
func (f List[P]) Read(r *Reader) {
	if r.word != "(" {
		r.fail(`"("`)
		return
	}
	if r.depth++; r.depth > maxDepth {
		r.fail(fmt.Sprintf("at most %d deep in brackets", maxDepth))
		return
	}
	start := r.at
	var parts []P
	for r.word == "(" || r.word == "," {
		r.next()
		parts = append(parts, f.Parse(r))
	}
	if r.word != ")" {
		r.fail(`"," or ")"`)
		return
	}
	r.next()
	r.depth--
	if must := f.Set(parts); must != "" {
		r.FailFrom(start, "must be "+must)
	}
}
