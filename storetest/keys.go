package storetest

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/weir-go/weir"
)

// awkwardKeys are all different. To a store that cuts, cleans, folds, weakly hashes or quotes keys,
// or replaces what its server does not allow, some of them look alike.
func awkwardKeys() []string {
	long := strings.Repeat("x", 1<<20)
	keys := []string{
		"", "\x00", "\x00\x00", " ", "\t", "\n", "\r\n", // empty, or similar to empty
		"a", "A", "a ", " a", "a\x00", "a\x00b", "a\n", "ä", "a\u0308", "A\u0308", // differ by trimming, folding, normalising, or as C strings
		"\xff", "\xfe", "\xc3", "\xc3\x28", "\xed\xa0\x80", "\ufffd", // not UTF-8, and the replacement character
		"a:b", "a::b", "a/b", "a//b", "a/../a/b", "a|b", "a,b", "a%3Ab", "a%b", "a*b", "a?b",
		"a b", "a_b", "a-b", "a+b", "a%20b", "a.b", "ab", // what is written in place of a space or a separator
		"{a}b", "{a}c", "a{b}", `a\b`, `a"b`, "a'b", "$1",
		"0", "-0", "00", "0x0", "1e3", "1000", // numbers
		"plumless", "buckeroo", "creamwove", "quists", "costarring", "liquid", "Aa", "BB", // CRC-32, FNV-1, FNV-1a, times 31
		"_", "-", "empty", "none", "default", // what is written in place of an empty key or name
		"null", "nil", "true", "__proto__", "key", "keys", "%", "*", ".", "..", "/", `\`,
		long, long + "x", long[:1<<20-1], long[:1<<20-1] + "y", "y" + long[1:], long[:1<<19] + "y" + long[1<<19+1:],
	}
	for length := 1; length <= 1<<12; length *= 2 { // differ in the last byte, at lengths that are common limits
		keys = append(keys, strings.Repeat("k", length)+"1", strings.Repeat("k", length)+"2")
	}
	return keys
}

// R11: every key has its own allowance, whatever bytes it contains and however many.
func keysApart(e *env) {
	const limit = 2
	l := e.limiter(weir.TokenBucket{Limit: limit, Per: e.long()}, "")
	keys := awkwardKeys()
	for _, key := range keys {
		if granted, _ := e.exhaust(l, key, limit); granted != limit {
			e.Fatalf("%s: key %s was granted %d of %d, when other keys had been used", r11, short(key), granted, limit)
		}
	}
	for _, key := range keys {
		if r := e.take(l, key, 1); r.Allowed {
			e.Fatalf("%s: key %s was exhausted, and then granted more when other keys had been used: %+v", r11, short(key), r)
		}
	}
	e.everyOtherForgotten(len(keys), limit, func(i int) (limiter, string) { return l, keys[i] })
}

// everyOtherForgotten makes the store forget one in two of n exhausted allowances, and then the
// others. Each is new when it was forgotten, and stays exhausted until then.
func (e *env) everyOtherForgotten(n, limit int, allowance func(i int) (limiter, string)) {
	for first := range 2 {
		for i := first; i < n; i += 2 {
			e.forget(allowance(i))
		}
		for i := range n {
			l, key := allowance(i)
			want := 0
			if i%2 == first {
				want = limit
			}
			if granted, _ := e.exhaust(l, key, limit); granted != want {
				e.Fatalf("%s: name %s, key %s was granted %d, want %d: it was exhausted, and one in two was forgotten",
					r11, short(l.plan.Name), short(key), granted, want)
			}
		}
	}
}

// R11: a Request's key is valid during the call only. A store that keeps it has to copy it, because
// the caller may use its buffer again.
func keysCopied(e *env) {
	l := e.limiter(weir.FixedWindow{Limit: 1, Per: e.long()}, "")
	for _, length := range []int{1, 8, 16, 100, 5000} {
		buffer := make([]byte, length)
		fill := func(c byte) {
			for i := range buffer {
				buffer[i] = c
			}
		}
		reused := unsafe.String(unsafe.SliceData(buffer), length)
		for _, c := range "abc" {
			fill(byte(c))
			if r := e.take(l, reused, 1); !r.Allowed {
				e.Fatalf("%s: a new key of %d bytes was denied, in a buffer that held another before: %+v", r11, length, r)
			}
		}
		fill('-')
		for _, c := range "abc" {
			if r := e.take(l, strings.Repeat(string(c), length), 1); r.Allowed {
				e.Fatalf("%s: a key of %d bytes was forgotten when the buffer that it lay in was used again", r11, length)
			}
		}
	}
}

// R11: limiters with different names never share a key, in whatever way the store joins name and
// key. "a" and "b:c" are not "a:b" and "c". All names and keys of up to three letters are combined,
// or of up to two in the shortest run. One of the letters is a separator. Names are told apart as
// keys are, too.
func namesApart(e *env) {
	e.sub(e.TB, "alike", func(tb testing.TB) { e.suite.env(tb).namesGrid(awkwardKeys(), []string{"k"}) })
	for _, separator := range []string{":", "\x00", "/", "|", ".", ",", "\xff", "1", "}"} {
		var words []string
		for i := range min(4*4*4, e.few(4*4*40)) {
			letters := []string{"", "a", separator, "{"}
			words = append(words, letters[i/16]+letters[i/4%4]+letters[i%4])
		}
		e.sub(e.TB, "with "+short(separator), func(tb testing.TB) { e.suite.env(tb).namesGrid(distinct(words), distinct(words)) })
	}
}

func (e *env) namesGrid(names, keys []string) {
	limiters := make([]limiter, len(names))
	for i, name := range names {
		limiters[i] = e.limiter(weir.FixedWindow{Limit: 1, Per: e.long()}, name)
	}
	for round, want := range []bool{true, false} {
		for i, name := range names {
			for _, key := range keys {
				if r := e.take(limiters[i], key, 1); r.Allowed != want {
					e.Fatalf("%s: name %s, key %s, take %d: allowed is %v, want %v",
						r11, short(name), short(key), round+1, r.Allowed, want)
				}
			}
		}
	}
	if len(keys) == 1 {
		e.everyOtherForgotten(len(names), 1, func(i int) (limiter, string) { return limiters[i], keys[0] })
	}
}

func distinct(words []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, w := range words {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// Sharing: limiters with the same name and policy share one allowance, also without a name.
// Limiters with different names have one each.
func sharedName(e *env) {
	const limit = 10
	for _, p := range append(every(limit, e.long()), named{"composed", composed(e.long())}) {
		for _, name := range []string{"", "n"} {
			a, b, other := e.limiter(p.Policy, p.name+name), e.limiter(p.Policy, p.name+name), e.limiter(p.Policy, p.name+name+"'")
			alone, _ := e.exhaust(other, "k", limit)
			together := 0
			for i := range 3 * limit {
				if e.take([]limiter{a, b}[i%2], "k", 1).Allowed {
					together++
				}
			}
			if together != alone {
				e.Fatalf("%s: %s: two limiters of one name were granted %d events, one alone %d", sharingRule, p.name, together, alone)
			}
		}
	}
}

// Sharing is exact: requests through three limiters get the same answers as through one, to the
// nanosecond. Their Deciders are different values. A store that takes them for different policies
// carries over a share of the allowance, and loses fractions.
func sharingIsExact(e *env) {
	for _, p := range append(shapes(10, time.Second), custom(time.Second)...) {
		if p.name == "composed" {
			continue // in general, two that can't be compared may or may not be equal
		}
		ls := []limiter{e.limiter(p.Policy, p.name), e.limiter(p.Policy, p.name), e.limiter(p.Policy, p.name)}
		e.walk(sharingRule, p.Policy, 2, ls...).run(e.few(500))
	}
}
