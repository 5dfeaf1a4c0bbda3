package weir

import (
	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/text"
)

// SingleRateMarker marks events as the single rate three color marker of RFC 2697 marks packets:
//
//   - green, until the committed burst is used up; DecidedBy of the Result is 0
//   - yellow, until the excess burst is used up; DecidedBy is 1
//   - red, which is denied
//
// A key has two buckets of tokens, which start full. Committed has the rate and size that the RFC
// calls CIR and CBS. Excess is the size that the RFC calls EBS. Tokens are earned at the committed
// rate. They go to the first bucket (Committed), and when it is full, to the second. A key that
// stays below this rate thus saves tokens for yellow events.
//
// All events of a request have one color. It is green if the first bucket has a token for each
// event, and yellow if only the second bucket has as many. If both have too few, it is red, and the
// request takes nothing.
//
// Unlike the tiers of [Tiers], the two buckets share one rate. In the long run the marker grants at
// most Committed.Limit per Committed.Per on average. It works in the mode that the RFC calls
// color-blind: an earlier mark of an event has no influence.
//
// Results, debts and give-backs:
//
//   - Limit of a Result is the size of the larger bucket. Remaining is what the bucket that has more
//     can grant now.
//   - DecidedBy of a denial is the color that the same request will have after RetryAfter, or 0 if
//     RetryAfter is [Never].
//   - If [Reservation.Settle] charges more events than either bucket can grant, all of them are
//     charged to the second bucket, which is then in debt. While the debt lasts, no more is granted
//     than both buckets have together.
//   - A [Reservation] gives its events back to the bucket that they came from, as far as they still
//     count.
//   - [KeyedLimiter.Return] does not know that bucket. Its events go to the second bucket until it
//     is full, and then to the first. This way no yellow event becomes green.
//
// The state has four words.
type SingleRateMarker struct {
	Committed TokenBucket // rate, and size of the bucket for green
	Excess    int         // tokens that the bucket for yellow holds; at least 0
}

// Decider implements [Policy].
func (p SingleRateMarker) Decider() (Decider, error) {
	f := faults{policy: p}
	_, err := p.Committed.Decider()
	f.errs = text.Within("Committed of a SingleRateMarker", err)
	f.atLeastZero("Excess", p.Excess)
	if err := f.err(); err != nil {
		return nil, err
	}
	d := &singleRate{newMarker(p.Committed, p.Committed)}
	d.green.most, d.yellow.most = exact.Uint128{Hi: 2 << 62}, pairMost
	d.yellow.limit, d.yellow.full = p.Excess, d.green.rate.Cost(uint64(p.Excess))
	return d, nil
}

// String returns the text form of p, such as "single-rate-marker 10/1s burst=20 excess=40".
func (p SingleRateMarker) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p SingleRateMarker) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy.
func (p *SingleRateMarker) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p *SingleRateMarker) form() text.Form {
	c := &p.Committed
	return text.Rate(&c.Limit, text.Duration(&c.Per), text.Count("burst", &c.Burst), text.Count("excess", &p.Excess))
}

// marker is what the Deciders of SingleRateMarker and of [TwoRateMarker] have in common: two
// buckets, with two words each for their states. An event is green if the first bucket has a token
// for it, and yellow if only the second grants it. The second is charged green events, too.
type marker struct{ green, yellow bucket }

func newMarker(green, yellow TokenBucket) marker {
	m := marker{green.bucket(), yellow.bucket()}
	m.green.atOnce, m.yellow.atOnce = true, true
	return m
}

func (d *marker) Words() int { return 4 }

func (d *marker) Expiry(state []uint64) int64 {
	if !d.sound(state) {
		return 0
	}
	return max(d.green.expiry(pairOf(state)), d.yellow.expiry(pairOf(state[2:])))
}

func (d *marker) sound(state []uint64) bool {
	return len(state) == d.Words() && d.green.valid(pairOf(state)) && d.yellow.valid(pairOf(state[2:]))
}

// giveBack gives back to each bucket what it was charged, or to the second if that is not known. It
// returns when both will be full, and whether it was known. A policy of another package that hands
// on to a marker has one Charge in a composition, which does not say to which bucket.
func (d *marker) giveBack(state []uint64, now int64, ask Ask) (first, second exact.Uint128, known bool) {
	first, second = exact.Load(state), exact.Load(state[2:])
	if c := ask.Charges; ask.GrantedAt != 0 && c != nil && len(*c) == 2 {
		all, green := (*c)[:1], (*c)[1:]
		ofGreen := ask.naming(&green)
		ask = ask.naming(&all)
		if known = all[0].Late <= 0; known { // see [Ask.paid]
			back, _ := d.green.freed(first, d.green.rate.Units(now), now, &ofGreen)
			first = first.Sub(back)
		}
	}
	back, _ := d.yellow.freed(second, d.yellow.rate.Units(now), now, &ask)
	return first, second.Sub(back), known
}

// chargedGreen is what the bucket for green is charged for n events.
func (d *marker) chargedGreen(isGreen bool, n int, before, after exact.Uint128) (c Charge) {
	if isGreen {
		c = d.green.charged(n, before, after)
	}
	return c
}

// used implements counter. The second bucket lacks the tokens of all events, whichever bucket
// granted them.
func (d *marker) used(state []uint64, now int64) uint64 {
	return d.yellow.usage(pairOf(state[2:]), now)
}

// singleRate keeps two instants, in units of the rate, in two words each. The first is when the
// bucket for green will be full. The second is when the bucket for yellow will be full, which fills
// only after the first. The bound of the first instant lies before that of the second: a debt of
// both stays in the second.
type singleRate struct{ marker }

func (d *singleRate) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	if !d.sound(state) {
		return state, broken()
	}
	at := d.green.rate.Units(now)
	green, both := exact.Load(state).Sub(at), exact.Load(state[2:]).Sub(at) // what the buckets lack
	granted := 0
	switch {
	case ask.N == 0:
		return state, d.look(green, both, ask.More)
	case ask.N < 0:
		first, second, known := d.giveBack(state, now, ask)
		if known {
			// The bucket for green gets back no more than both together, and then lacks no more.
			freed := exact.Load(state[2:]).Sub(second)
			first = first.Add(exact.Load(state).Sub(freed).Sub(first))
			second = second.Add(first.Sub(second))
		} else {
			first = first.Min(second)
		}
		first.Store(state)
		second.Store(state[2:])
		return state, d.look(first.Sub(at), second.Sub(at), false)
	case ask.Mode == UpTo:
		granted = min(ask.N, d.look(green, both, false).Remaining)
		ask.N = max(granted, 1)
	}

	cost := d.green.rate.Cost(uint64(ask.N))
	isGreen, allowed := d.charge(state, at, cost, ask.Mode == Regardless)
	if !allowed {
		return state, d.deny(d.look(green, both, ask.More), green.Add(cost), both.Add(cost), ask.N)
	}
	before, beforeAll := green, both
	green, both = exact.Load(state).Sub(at), exact.Load(state[2:]).Sub(at)
	if ask.Charges != nil {
		*ask.Charges = append((*ask.Charges)[:0],
			d.yellow.charged(ask.N, beforeAll, both), d.chargedGreen(isGreen, ask.N, before, green))
	}
	a := d.look(green, both, ask.More)
	if a.DecidedBy, a.Granted = 0, granted; !isGreen {
		a.DecidedBy = 1
	}
	return state, a
}

// charge charges events that cost so much, if they are allowed or must be charged regardless. A debt
// is bounded.
func (d *singleRate) charge(state []uint64, at, cost exact.Uint128, regardless bool) (isGreen, allowed bool) {
	green, both := exact.Load(state).Sub(at), exact.Load(state[2:]).Sub(at)
	enough := regardless || !d.left(both).Less(cost)
	switch {
	case fits(green, cost, d.green) && enough:
		green, isGreen = green.Add(cost), true
	case fits(both.Sub(green), cost, d.yellow) && enough || regardless:
	default:
		return false, false
	}
	greenAt, fullAt := at.Add(green), at.Add(both.Add(cost)).Min(d.yellow.most)
	greenAt.Store(state)
	fullAt.Store(state[2:])
	return isGreen, true
}

func fits(owed, cost exact.Uint128, b bucket) bool { return !b.full.Less(owed.Add(cost)) }

func (d *singleRate) admit(state []uint64, now int64) ([]uint64, bool) {
	_, allowed := d.charge(state, d.green.rate.Units(now), exact.Uint128{Lo: d.green.rate.Num}, false)
	return state, allowed
}

func (d *singleRate) take(state []uint64, now int64, n int) ([]uint64, shortResult, int) {
	state, a := d.Decide(state, now, Ask{N: n})
	return state, a.short(), a.DecidedBy
}

// left is what both buckets have together. It is less than one of them has while the other is in
// debt.
func (d *singleRate) left(both exact.Uint128) exact.Uint128 {
	return d.green.full.Add(d.yellow.full).Sub(both)
}

// deny finds when the first of the buckets will have enough. green and both are what they would
// lack:
//
//   - The bucket for yellow, if it has enough now.
//   - Else the bucket for green, if it is large enough at all, because the other fills only after
//     it.
//
// Both together must have enough, too.
func (d *singleRate) deny(a Answer, green, both exact.Uint128, n int) Answer {
	a = a.never()
	a.DecidedBy = 0
	together := d.green.rate.Ceil(both.Sub(d.green.full.Add(d.yellow.full)))
	switch {
	case fits(both.Sub(green), d.green.rate.Cost(uint64(n)), d.yellow):
		a.RetryAfter, a.DecidedBy = together, 1
	case n <= d.green.limit:
		a.RetryAfter = max(d.green.rate.Ceil(green.Sub(d.green.full)), together)
	case n <= d.yellow.limit:
		a.RetryAfter = d.green.rate.Ceil(both.Sub(d.yellow.full))
		a.DecidedBy = 1
	}
	return a
}

// look is the answer when the buckets lack that much. DecidedBy is the first bucket that has a
// token, or 0. more asks for MoreAfter.
func (d *singleRate) look(lackGreen, lackBoth exact.Uint128, more bool) Answer {
	left := d.green.rate.Events(d.left(lackBoth))
	green, yellow := min(d.green.remaining(lackGreen), left), min(d.yellow.remaining(lackBoth.Sub(lackGreen)), left)
	a := Answer{Result: Result{
		Allowed:    true,
		Limit:      max(d.green.limit, d.yellow.limit),
		Remaining:  max(green, yellow),
		ResetAfter: d.green.rate.Ceil(lackBoth),
	}}
	if green == 0 && yellow > 0 {
		a.DecidedBy = 1
	}
	if more && a.Remaining < a.Limit {
		n := a.Remaining + 1
		cost := d.green.rate.Cost(uint64(n))
		a.MoreAfter = d.deny(a, lackGreen.Add(cost), lackBoth.Add(cost), n).RetryAfter
	}
	return a
}

func (d *singleRate) sound(state []uint64) bool {
	return d.marker.sound(state) && !exact.Load(state[2:]).Less(exact.Load(state))
}

// The methods below are for changes of policy, see counter. Both buckets count as one.

func (d *singleRate) counts() any { return [1]any{d.green.counts()} }

func (d *singleRate) allowance() uint64 { return uint64(d.green.limit) + uint64(d.yellow.limit) }
