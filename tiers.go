package weir

import (
	"math"
	"slices"
)

// Tiers returns a policy whose tiers are the given policies. It asks the first tier. If that
// denies, it asks the next. The first is the allowance for normal use, and the others are for use
// beyond it. The events are charged to the tier that grants them: this tier pays. DecidedBy of the
// Result is the number of this tier, counted from zero. The caller can treat the events
// accordingly: serve those of the first tier as promised, and those of the next at a lower
// priority, or with a warning.
//
// One tier pays for all the events of a request: usually the first tier that has enough. If no tier
// has enough, the request is denied. A Result means the same as the Result of a single policy:
//
//   - Limit and Remaining are the largest that any tier has, because one request cannot use several
//     tiers. While a tier is in debt, no request is granted more than all tiers have together. If
//     the policy of a tier is of another package, its debt is not known, and limits only that tier.
//   - RetryAfter is the shortest that any tier has. While a tier is in debt, it can be longer.
//   - ResetAfter is the longest that any tier has. After a change of policy it can be longer.
//   - DecidedBy of a grant is the tier that paid. DecidedBy of a denial is the tier that will grant
//     first, or 0 if none can. If n is 0, DecidedBy is the first tier that has something left, or 0
//     if none has.
//
// With other methods:
//
//   - [KeyedLimiter.TakeUpTo] grants n events, or as many as the tier that has most left can grant.
//     One tier pays for all of them.
//   - A [Reservation] gives back to the tier that paid. If it is settled for more events, the first
//     tier that has enough for the additional ones pays for them. If none has, the last tier is
//     charged.
//   - [KeyedLimiter.Return] does not know the tier that paid. It gives back to the last tier that
//     does not have its full allowance. If that tier has counted fewer events, the remaining ones
//     are not given back.
//   - [KeyedLimiter.Wait] asks again when one of the tiers may grant. Tiers keep no queue.
//
// Each tier counts only the events that it grants, and recovers independently of the others. The
// traffic meters of routers combine two buckets in other ways. For these, use [SingleRateMarker]
// and [TwoRateMarker].
//
// [New] refuses Tiers without policies, with a nil tier, with a tier that is itself invalid, or if
// the state of a new key would have more than 100,002 words, the size of the largest
// [SlidingWindow].
func Tiers(policies ...Policy) Policy { return tiers{newList(policies)} }

type tiers struct{ list }

// GoString implements [fmt.GoStringer].
func (p tiers) GoString() string { return p.goString("Tiers") }

// Decider implements [Policy].
func (p tiers) Decider() (Decider, error) { return newComposed("Tiers", p.policies()) }

// String returns the text form of p, such as "tiers(300/1m, sliding-log 9/1h)".
func (p tiers) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p tiers) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// askTiers asks one tier after the other, until one pays. It looks at the others.
func (c *composed) askTiers(state []uint64, now int64, ask Ask, results []Result) ([]uint64, Answer) {
	if ask.N < 0 {
		state, tier := c.giveBackToTier(state, now, ask)
		state, a := c.askTiers(state, now, Ask{}, results)
		a.DecidedBy = tier
		return state, a
	}
	left, indebted := c.left(state, now)
	short := ask.N > left
	if short && ask.Mode == AllOrNone {
		return c.denyDebt(state, now, ask, results)
	}
	sum := Answer{Result: Result{RetryAfter: math.MaxInt64}}
	first := 0 // that has something left
	var a Answer
	for i := range c.parts {
		this, last := ask, i == len(c.parts)-1
		switch {
		case sum.Allowed, short && !last: // events that all tiers together lack are charged to the last alone
			this = Ask{More: ask.More}
		case !last:
			this.Mode = AllOrNone
		}
		state = c.ask(state, i, now, this, &a)
		if results != nil {
			results[i] = a.Result
		}
		if a.Remaining > 0 && sum.Remaining == 0 {
			first = i
		}
		sum.Limit = max(sum.Limit, a.Limit)
		sum.Remaining = max(sum.Remaining, a.Remaining)
		sum.ResetAfter = max(sum.ResetAfter, a.ResetAfter)
		switch {
		case sum.Allowed, this.N < ask.N:
		case a.Allowed:
			sum.Allowed, sum.RetryAfter, sum.DecidedBy = true, 0, i
		case a.RetryAfter < sum.RetryAfter:
			sum.RetryAfter, sum.DecidedBy = a.RetryAfter, i
		}
	}
	if ask.N == 0 {
		sum.DecidedBy = first
	}
	if indebted || ask.Mode == Regardless { // there is less of it now
		left, _ = c.left(state, now)
	}
	sum.Remaining = min(sum.Remaining, left)
	return state, sum
}

// left returns how many events all tiers have together while one of them, or a part of one, is in
// debt. Otherwise it returns math.MaxInt, because no tier has more than all of them.
func (c *composed) left(state []uint64, now int64) (n int, indebted bool) {
	walk(c, state, func(leaf Decider, words []uint64) {
		d, ok := leaf.(counter) // else its debt is not known
		indebted = indebted || ok && d.used(words, now) > d.allowance()
	})
	if !indebted {
		return math.MaxInt, false
	}
	used, limit := usageIn(c, split(c, state), now)
	return int(min(limit-min(used, limit), math.MaxInt)), true
}

// denyDebt denies an ask for events that the tiers do not have together. It searches for the
// instant at which they have them. While time passes and nothing is granted, they never have less.
func (c *composed) denyDebt(state []uint64, now int64, ask Ask, results []Result) ([]uint64, Answer) {
	n := ask.N
	state, a := c.askTiers(state, now, Ask{More: ask.More}, nil)
	ask.Charges = nil
	for i := range results {
		var alone Answer
		state = c.would(state, now, ask, i, &alone)
		results[i] = alone.Result
	}
	a = a.never()
	a.DecidedBy = 0 // unless one is found that will grant
	if n > a.Limit {
		return state, a
	}
	room := slices.Clone(state)
	tiers := make([]Result, len(c.parts))
	has := func(at int64) bool {
		_, later := c.askTiers(room, at, Ask{}, tiers)
		return later.Remaining >= n
	}
	a.RetryAfter = untilInstant(now, firstInstant(now, c.Expiry(state), has))
	if a.RetryAfter < Never && has(now+int64(a.RetryAfter)) {
		a.DecidedBy = slices.IndexFunc(tiers, func(r Result) bool { return r.Remaining >= n })
	}
	return state, a
}

// firstInstant is the first instant after now at which has is true. From that instant on, has stays
// true. It is true at the instant last, at the latest. Only if last is math.MaxInt64 may it never
// become true: the result is then math.MaxInt64.
func firstInstant(now, last int64, has func(at int64) bool) int64 {
	if last == math.MaxInt64 && !has(last) {
		return last
	}
	for last-now > 1 {
		if middle := now + (last-now)/2; has(middle) {
			last = middle
		} else {
			now = middle
		}
	}
	return last
}

// giveBackToTier gives back to the tier that paid, and returns which one it is. If that is not
// known, it gives back to the last tier that is not full.
func (c *composed) giveBackToTier(state []uint64, now int64, ask Ask) (_ []uint64, tier int) {
	var a Answer
	for i := range slices.Backward(c.parts) {
		var paid bool
		if ask.Charges != nil {
			paid = slices.ContainsFunc(c.charged(*ask.Charges, i), func(c Charge) bool { return c.N > 0 })
		} else {
			state = c.ask(state, i, now, Ask{}, &a)
			paid = a.ResetAfter > 0 // Remaining may be Limit if parts of the tier have less
		}
		if paid {
			return c.ask(state, i, now, ask, &a), i
		}
	}
	return state, 0
}
