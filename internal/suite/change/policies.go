package change

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// A form is the kind of a tree of policies.
type form int

const (
	leaf form = iota // a policy that is not composed, or a marker
	all
	tiers
)

// A tree is a policy that knows its parts.
type tree struct {
	form    form
	leaf    weir.Policy
	foreign bool // the leaf decides as a policy of another package
	parts   []tree
}

// A foreign policy is one of another package that decides as P does.
type foreign struct{ P weir.Policy }

type foreignDecider struct{ weir.Decider }

// Decider implements [weir.Policy].
func (f foreign) Decider() (weir.Decider, error) {
	d, err := f.P.Decider()
	return foreignDecider{d}, err
}

func one(p weir.Policy) tree     { return tree{leaf: p} }
func allOf(parts ...tree) tree   { return tree{form: all, parts: parts} }
func tiersOf(parts ...tree) tree { return tree{form: tiers, parts: parts} }
func several(p ...tree) []tree   { return p }
func (t tree) policy() weir.Policy {
	switch {
	case t.foreign:
		return foreign{t.leaf}
	case t.form == leaf:
		return t.leaf
	}
	parts := make([]weir.Policy, len(t.parts))
	for i, p := range t.parts {
		parts[i] = p.policy()
	}
	if t.form == all {
		return weir.All(parts...)
	}
	return weir.Tiers(parts...)
}

// any reports whether f holds for one of the leaves.
func (t tree) any(f func(weir.Policy) bool) bool {
	if t.form == leaf {
		return f(t.leaf)
	}
	for _, p := range t.parts {
		if p.any(f) {
			return true
		}
	}
	return false
}

// hasForeign reports whether a leaf is of another package.
func (t tree) hasForeign() bool { return t.foreign || slices.ContainsFunc(t.parts, tree.hasForeign) }

// someForeign returns the tree with half of its leaves of another package. A marker stays as it is:
// its Remaining is less than it has left.
func (t tree) someForeign(r *rand.Rand) tree {
	t.foreign = t.form == leaf && !isMarker(t.leaf) && r.IntN(2) == 0
	t.parts = slices.Clone(t.parts)
	for i, p := range t.parts {
		t.parts[i] = p.someForeign(r)
	}
	return t
}

func isBucket(p weir.Policy) bool {
	switch p.(type) {
	case weir.TokenBucket, weir.LeakyBucket:
		return true
	}
	return false
}

func isMarker(p weir.Policy) bool {
	switch p.(type) {
	case weir.SingleRateMarker, weir.TwoRateMarker:
		return true
	}
	return false
}

// burst returns the most that a bucket holds.
func burst(p weir.TokenBucket) int { return or(p.Burst, p.Limit) }

// room returns the most that a queue takes at once.
func room(p weir.LeakyBucket) int { return max(or(p.Capacity, p.Limit), 1) }

func or(n, instead int) int {
	if n == 0 {
		return instead
	}
	return n
}

// alike reports whether the policies count alike: R15, row 1, and for composed ones part by part. A
// token bucket and a queue never count as alike, even with one rate. The bound is then looser.
func alike(p, q tree) bool {
	if p.foreign || q.foreign {
		return p.foreign && q.foreign && p.leaf == q.leaf
	}
	if p.form != q.form || len(p.parts) != len(q.parts) {
		return false
	}
	if p.form != leaf {
		for i := range p.parts {
			if !alike(p.parts[i], q.parts[i]) {
				return false
			}
		}
		return true
	}
	switch p := p.leaf.(type) {
	case weir.TokenBucket:
		q, ok := q.leaf.(weir.TokenBucket)
		return ok && sameRate(p.Limit, p.Per, q.Limit, q.Per)
	case weir.LeakyBucket:
		q, ok := q.leaf.(weir.LeakyBucket)
		return ok && sameRate(p.Limit, p.Per, q.Limit, q.Per)
	case weir.FixedWindow:
		q, ok := q.leaf.(weir.FixedWindow)
		return ok && p.Per == q.Per && p.FromFirst == q.FromFirst
	case weir.SlidingWindow:
		q, ok := q.leaf.(weir.SlidingWindow)
		return ok && p.Per == q.Per && or(p.Buckets, 1) == or(q.Buckets, 1)
	case weir.SlidingLog:
		q, ok := q.leaf.(weir.SlidingLog)
		return ok && p.Per == q.Per
	case weir.CalendarWindow:
		q, ok := q.leaf.(weir.CalendarWindow)
		return ok && p.Unit == q.Unit && p.Location == q.Location && p.Start == q.Start
	case weir.SingleRateMarker:
		q, ok := q.leaf.(weir.SingleRateMarker)
		return ok && sameRate(p.Committed.Limit, p.Committed.Per, q.Committed.Limit, q.Committed.Per)
	case weir.TwoRateMarker:
		q, ok := q.leaf.(weir.TwoRateMarker)
		return ok && sameRate(p.Committed.Limit, p.Committed.Per, q.Committed.Limit, q.Committed.Per) &&
			sameRate(p.Peak.Limit, p.Peak.Per, q.Peak.Limit, q.Peak.Per)
	}
	panic(unknown(p.leaf))
}

// sameRate compares fractions. The numbers of trials are small, and nothing wraps around.
func sameRate(l int, per time.Duration, m int, qer time.Duration) bool {
	return int64(l)*int64(qer) == int64(m)*int64(per)
}

// join returns a policy with the larger numbers of two policies that count alike. Alone, it could
// have granted all that both grant together.
func join(p, q tree) tree {
	if p.foreign { // q is the same
		return p
	}
	if p.form != leaf {
		parts := make([]tree, len(p.parts))
		for i := range parts {
			parts[i] = join(p.parts[i], q.parts[i])
		}
		return tree{form: p.form, parts: parts}
	}
	switch p := p.leaf.(type) {
	case weir.TokenBucket:
		p.Burst = max(burst(p), burst(q.leaf.(weir.TokenBucket)))
		return one(p)
	case weir.LeakyBucket:
		p.Capacity = max(room(p), room(q.leaf.(weir.LeakyBucket)))
		return one(p)
	case weir.FixedWindow:
		p.Limit = max(p.Limit, q.leaf.(weir.FixedWindow).Limit)
		return one(p)
	case weir.SlidingWindow:
		p.Limit = max(p.Limit, q.leaf.(weir.SlidingWindow).Limit)
		return one(p)
	case weir.SlidingLog:
		p.Limit = max(p.Limit, q.leaf.(weir.SlidingLog).Limit)
		return one(p)
	case weir.CalendarWindow:
		p.Limit = max(p.Limit, q.leaf.(weir.CalendarWindow).Limit)
		return one(p)
	case weir.SingleRateMarker:
		q := q.leaf.(weir.SingleRateMarker)
		p.Committed.Burst = max(burst(p.Committed), burst(q.Committed))
		p.Excess = max(p.Excess, q.Excess)
		return one(p)
	case weir.TwoRateMarker:
		q := q.leaf.(weir.TwoRateMarker)
		p.Committed.Burst = max(burst(p.Committed), burst(q.Committed))
		p.Peak.Burst = max(burst(p.Peak), burst(q.Peak))
		return one(p)
	}
	panic(unknown(p.leaf))
}

// classes returns for each policy the first one that counts like it, and for each first one the
// join.
func classes(policies []tree) (of []int, joined []tree) {
	of, joined = make([]int, len(policies)), make([]tree, len(policies))
	for i, p := range policies {
		of[i], joined[i] = i, p
		for j := range i {
			if of[j] == j && alike(policies[j], p) {
				of[i], joined[j] = j, join(joined[j], p)
				break
			}
		}
	}
	return of, joined
}

// numbered returns the leaf with n as the number of events that it grants at once. A marker stays
// as it is.
func numbered(p tree, n int) tree {
	switch q := p.leaf.(type) {
	case weir.TokenBucket:
		q.Burst = n
		return one(q)
	case weir.LeakyBucket:
		q.Capacity = n
		return one(q)
	case weir.FixedWindow:
		q.Limit = n
		return one(q)
	case weir.SlidingWindow:
		q.Limit = n
		return one(q)
	case weir.SlidingLog:
		q.Limit = n
		return one(q)
	case weir.CalendarWindow:
		q.Limit = n
		return one(q)
	case weir.SingleRateMarker, weir.TwoRateMarker:
		return p
	}
	panic(unknown(p.leaf))
}
