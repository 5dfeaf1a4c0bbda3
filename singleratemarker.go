package weir

import (
	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/text"
)

// SingleRateMarker marks events as the single rate three color marker of RFC 2697 marks packets:
//
//   - green, while the committed burst lasts; DecidedBy of the Result is 0
//   - yellow, while the excess burst lasts; DecidedBy is 1
//   - red, which is denied
//
// A key has two buckets of tokens, which start full. Committed has the rate and size that the RFC
// calls CIR and CBS. Excess is the size that the RFC calls EBS. Tokens are earned at the committed
// rate. They go to the first bucket, and when that is full, to the second. A key that stays below
// its rate thus saves tokens for yellow events.
//
// All events of a request have one color. It is green if the first bucket has a token for each
// event. Otherwise it is yellow if the second bucket has these tokens. Otherwise it is red, and the
// request takes nothing.
//
// Unlike the buckets of [Tiers], both share one rate. In the long run the marker never grants more
// than Committed.Limit per Per. It works in the mode that the RFC calls color-blind: an earlier
// mark of an event has no influence, because [KeyedLimiter.Take] has no argument for it.
//
// Results, debts and give-backs:
//
//   - Limit and Remaining are those of the bucket that has more.
//   - DecidedBy of a denial is the color that the same request will have after RetryAfter.
//   - A debt is charged to the second bucket. While it lasts, no more is granted than both buckets
//     have together.
//   - A [Reservation] gives its events back to the bucket that they came from.
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
	d := &singleRate{marker{p.Committed.bucket(), p.Committed.bucket()}}
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
// for it, and yellow if only the second grants it.
type marker struct{ green, yellow bucket }

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

// greenBack returns what the bucket for green gets back of a green grant, at most: its cost, less what
// the bucket has earned since. If the grant was the last, the bucket lacks nothing of later ones, and
// may get back all.
func (d *marker) greenBack(now int64, ask Ask, last bool) exact.Uint128 {
	if c := ask.charge(); c == nil || !c.Green {
		return exact.Uint128{}
	}
	back := d.green.rate.Cost(exact.Magnitude(ask.N))
	if last {
		return back
	}
	return back.Sub(d.green.rate.Units(max(now-ask.GrantedAt, 0)))
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
	at, fullAt := d.green.rate.Units(now), exact.Load(state[2:])
	green, both := exact.Load(state).Sub(at), fullAt.Sub(at) // what the buckets lack
	look := d.look(green, both, ask.More)
	granted, part := 0, 0
	switch {
	case ask.N == 0:
		return state, look
	case ask.N < 0:
		end, known := ask.paid(d.green.rate)
		back := d.green.rate.Cost(exact.Magnitude(ask.N)).Min(end.Sub(at)).Min(both)
		if !fullAt.Less(d.yellow.most) {
			back = exact.Uint128{}
		}
		toGreen := d.greenBack(now, ask, end == fullAt).Min(back).Min(green)
		if known { // what the bucket for yellow does not lack makes no later event green
			back = back.Min(toGreen.Add(both.Sub(green)))
		}
		if toGreen.Less(back) && green.Less(both) {
			part = 1
		}
		both = both.Sub(back)
		green = green.Sub(toGreen).Min(both)
		if !back.IsZero() {
			d.put(state, at, green, both)
		}
		a := d.look(green, both, false)
		a.DecidedBy = part
		return state, a
	case ask.Mode == UpTo:
		granted = min(ask.N, look.Remaining)
		ask.N = max(granted, 1)
	}

	cost := d.green.rate.Cost(uint64(ask.N))
	enough := ask.Mode == Regardless || !d.left(both).Less(cost)
	switch {
	case fits(green, cost, d.green) && enough:
		green = green.Add(cost)
	case fits(both.Sub(green), cost, d.yellow) && enough || ask.Mode == Regardless:
		part = 1
	default:
		return state, d.deny(look, green.Add(cost), both.Add(cost), ask.N)
	}
	before := both
	both = d.put(state, at, green, both.Add(cost))
	if ask.Charges != nil {
		d.green.charged(ask, before, both)
		(*ask.Charges)[0].Green = part == 0
	}
	a := d.look(green, both, ask.More)
	a.DecidedBy, a.Granted = part, granted
	return state, a
}

func fits(owed, cost exact.Uint128, b bucket) bool { return !b.full.Less(owed.Add(cost)) }

// put makes the state from what the buckets lack. It returns what both lack by the new state. That
// may be less, because a debt is bounded.
func (d *singleRate) put(state []uint64, at, green, both exact.Uint128) exact.Uint128 {
	greenAt, fullAt := at.Add(green), at.Add(both).Min(d.yellow.most)
	greenAt.Store(state)
	fullAt.Store(state[2:])
	return fullAt.Sub(at)
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
