package weir

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// composed lays out the states of several parts as one. The words of parts that never grow come
// first, each at its place. The parts that may grow follow, one after the other; their lengths stand
// before them, but for that of the last, which has the rest.
type composed struct {
	parts []part
	words int // of a new state
	fixed int // words that come before the parts that may grow
}

type part struct {
	Decider
	policy    Policy
	word      WordDecider  // Decider if it is one, else nil
	admitWord wordAdmitter // likewise
	limit     int          // of admitWord
	admit     admitter     // likewise

	index int // its number among those given
	size  int // words of a new state
	at    int // where its words start, if it does not grow
	grows bool

	// length is where the length of a part that may grow stands, less its size, so that a new state
	// is of zeros. It is -1 for the last of these.
	length int
}

// newComposed returns the composition of policies for a kind of composition, whose name stands in the errors.
func newComposed(kind string, policies []Policy) (*composed, error) {
	if len(policies) == 0 {
		return nil, fmt.Errorf("weir: %s of no policies, must be at least 1", kind)
	}
	c := &composed{parts: make([]part, len(policies))}
	var errs []error
	for i, policy := range policies {
		p := &c.parts[i]
		p.policy, p.index, p.length = policy, i, -1
		if nilPolicy(policy) {
			errs = append(errs, fmt.Errorf("weir: part %d of %s is %s, must be a Policy", i, kind, nilText(policy)))
			continue
		}
		var err error
		p.Decider, err = policy.Decider()
		errs = append(errs, within(fmt.Sprintf("part %d of %s", i, kind), err)...)
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	c.layOut()
	return c, nil
}

// within tells of each of the faults in err where it is.
func within(where string, err error) []error {
	if err == nil {
		return nil
	}
	faults := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		faults = joined.Unwrap()
	}
	var errs []error
	for _, fault := range faults {
		errs = append(errs, faultWithin{where, fault})
	}
	return errs
}

type faultWithin struct {
	where string
	fault error
}

func (f faultWithin) Error() string {
	return "weir: " + f.where + ": " + strings.TrimPrefix(f.fault.Error(), "weir: ")
}

func (f faultWithin) Unwrap() error { return f.fault }

func (c *composed) layOut() {
	var last *part // that may grow
	for i := range c.parts {
		p := &c.parts[i]
		p.size = p.Words()
		p.word, _ = p.Decider.(WordDecider)
		if p.admitWord, _ = p.Decider.(wordAdmitter); p.admitWord != nil {
			p.limit = p.admitWord.limitAtOnce()
		}
		p.admit, _ = p.Decider.(admitter)
		c.words += p.size
		if p.grows = mayGrow(p.Decider); !p.grows {
			p.at = c.fixed
			c.fixed += p.size
			continue
		}
		if last != nil {
			last.length = 0
		}
		last = p
	}
	for i := range c.parts {
		if p := &c.parts[i]; p.length == 0 {
			p.length = c.fixed
			c.fixed++
			c.words++
		}
	}
}

// mayGrow tells whether the states of d are not all of one size. Those of a policy of another package
// may be of any, unless they are words.
func mayGrow(d Decider) bool {
	switch d := d.(type) {
	case WordDecider, bucketPair, windowCount, sliding, *singleRate:
		return false
	case interface{ grows() bool }:
		return d.grows()
	}
	return true
}

func (c *composed) grows() bool {
	return slices.ContainsFunc(c.parts, func(p part) bool { return p.grows })
}

// Words implements [Decider].
func (c *composed) Words() int { return c.words }

// Expiry implements [Decider]: when all parts are as new.
func (c *composed) Expiry(state []uint64) int64 {
	last := int64(0)
	for i := range c.parts {
		from, to := c.span(state, i)
		last = max(last, c.parts[i].Expiry(state[from:to:to]))
	}
	return last
}

// span is where the words of part i lie in the state.
func (c *composed) span(state []uint64, i int) (from, to int) {
	p := &c.parts[i]
	if !p.grows {
		return p.at, p.at + p.size
	}
	from = c.fixed
	for j := range c.parts[:i] {
		if q := &c.parts[j]; q.grows {
			from += q.size + int(state[q.length])
		}
	}
	if p.length < 0 {
		return from, len(state)
	}
	return from, from + p.size + int(state[p.length])
}

// spare is how many words a decision of a log adds. A part that is followed by others has room for so
// many, so that it need not be copied to grow.
const spare = 2

// ask lets part i decide on its words, and returns the state with what it made of them. The answer
// goes to *a: it is large, and copying it costs as much as making it.
func (c *composed) ask(state []uint64, i int, now int64, ask Ask, a *Answer) []uint64 {
	p := &c.parts[i]
	switch {
	case p.admitWord != nil && ask.N >= 0 && ask.How == AllOrNone && ask.MaxWait <= 0:
		next, r := p.admitWord.takeWord(state[p.at], now, ask.N)
		state[p.at] = next
		*a = Answer{Result: Result{
			Allowed: r.retryAfter == 0, Limit: p.limit,
			Remaining: r.remaining, RetryAfter: r.retryAfter, ResetAfter: r.resetAfter,
		}}
		return state
	case p.word != nil:
		state[p.at], *a = p.word.DecideWord(state[p.at], now, ask)
		return state
	}
	from, to := c.span(state, i)
	var words []uint64
	switch {
	case !p.grows:
		_, *a = p.Decide(state[from:to:to], now, ask)
		return state
	case p.length < 0:
		words, *a = p.Decide(state[from:], now, ask)
		if len(words) > 0 && from < cap(state) && &words[0] == &state[:from+1][from] {
			return state[:from+len(words)]
		}
		return append(state[:from], words...)
	default:
		var room [spare]uint64
		state = slices.Insert(state, to, room[:]...)
		words, *a = p.Decide(state[from:to:to+spare], now, ask)
		return c.put(state, i, from, to+spare, words)
	}
}

// put makes words those of part i, in place of state[from:to].
func (c *composed) put(state []uint64, i, from, to int, words []uint64) []uint64 {
	if p := &c.parts[i]; p.length >= 0 {
		state[p.length] = uint64(len(words) - p.size)
	}
	return slices.Replace(state, from, to, words...)
}

// admit asks part i for one event.
func (c *composed) admit(state []uint64, i int, now int64) ([]uint64, bool) {
	switch p := &c.parts[i]; {
	case p.admitWord != nil:
		next, granted := p.admitWord.admitWord(state[p.at], now)
		state[p.at] = next
		return state, granted
	case p.admit != nil && !p.grows:
		_, granted := p.admit.admit(state[p.at:p.at+p.size:p.at+p.size], now)
		return state, granted
	default:
		var a Answer
		state = c.ask(state, i, now, Ask{N: 1}, &a)
		return state, a.Allowed
	}
}

// resized is a slice of n results, in the place of results if that is large enough.
func resized(results []Result, n int) []Result { return slices.Grow(results[:0], n)[:n] }
