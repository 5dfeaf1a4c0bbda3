package change

import (
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir"
)

// A draw makes policies with related numbers. Faults appear where numbers nearly fit.
type draw struct {
	*rand.Rand
	limit int
	per   time.Duration
	grain time.Duration // all spans and instants are multiples of it
	pool  []tree        // leaves that were drawn before
}

func newDraw(r *rand.Rand, grain time.Duration) *draw {
	return &draw{
		Rand:  r,
		grain: grain,
		limit: pick(r, 1, 1, 2, 3, 7, 10, 10, 100, 1000),
		per:   pick(r, time.Second, time.Minute, time.Hour, time.Hour, 12*grain, grain, 3*grain),
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// policies draws two to four policies, or one, or some that count alike.
func (d *draw) policies() []tree {
	n := pick(d.Rand, 1, 2, 2, 2, 3, 3, 4)
	var drawn []tree
	switch d.IntN(6) {
	case 0: // of one kind, with other numbers
		p := d.leaf()
		for drawn = append(drawn, p); len(drawn) < n; {
			drawn = append(drawn, d.changed(p))
		}
	case 1: // a part is added, removed or changed
		p := d.composed(1)
		for drawn = append(drawn, p); len(drawn) < n; {
			drawn = append(drawn, d.otherParts(p))
		}
	default:
		for len(drawn) < n {
			drawn = append(drawn, d.tree(2))
		}
	}
	return drawn
}

func (d *draw) tree(depth int) tree {
	if depth > 0 && d.IntN(3) == 0 {
		return d.composed(depth - 1)
	}
	if len(d.pool) > 0 && d.IntN(3) == 0 {
		p := d.pool[d.IntN(len(d.pool))]
		if d.IntN(2) == 0 {
			return p
		}
		return d.changed(p)
	}
	return d.leaf()
}

func (d *draw) composed(depth int) tree {
	parts := make([]tree, 1+d.IntN(3))
	for i := range parts {
		parts[i] = d.tree(depth)
	}
	return tree{form: pick(d.Rand, all, tiers), parts: parts}
}

func (d *draw) otherParts(p tree) tree {
	parts := append([]tree(nil), p.parts...)
	i := d.IntN(len(parts))
	switch d.IntN(4) {
	case 0:
		parts = append(parts, d.leaf())
	case 1:
		if len(parts) > 1 {
			parts = append(parts[:i], parts[i+1:]...)
		}
	case 2:
		if parts[i].form == leaf {
			parts[i] = d.changed(parts[i])
		}
	default:
		parts[i] = d.leaf()
	}
	return tree{form: p.form, parts: parts}
}

// number returns a number near the limit, far from it, or small.
func (d *draw) number() int {
	l := d.limit
	return max(1, pick(d.Rand, l, l, l, 2*l, 10*l, l/10, l/2, l+1, 1, 2, 3))
}

func (d *draw) span() time.Duration {
	p := d.per
	return max(d.grain, pick(d.Rand, p, p, p, p, 2*p, p/2, 60*p, p/60).Truncate(d.grain))
}

func (d *draw) bucket() weir.TokenBucket {
	return weir.TokenBucket{Limit: d.number(), Per: d.span(), Burst: pick(d.Rand, 0, 0, 1, d.number())}
}

func (d *draw) calendar() weir.CalendarWindow {
	p := weir.CalendarWindow{Limit: d.number(), Unit: pick(d.Rand, weir.Minute, weir.Hour, weir.Hour, weir.Day, weir.Week, weir.Month)}
	switch p.Unit {
	case weir.Week:
		p.Start = pick(d.Rand, 0, 0, 1, 6)
	case weir.Month:
		p.Start = pick(d.Rand, 0, 0, 15, 31)
	}
	return p
}

// leaf draws a policy that is not composed.
func (d *draw) leaf() tree {
	var p weir.Policy
	switch d.IntN(13) {
	case 0, 1:
		p = d.bucket()
	case 2, 3:
		p = weir.LeakyBucket{Limit: d.number(), Per: d.span(), Capacity: pick(d.Rand, 0, 1, d.number())}
	case 4, 5:
		p = weir.FixedWindow{Limit: d.number(), Per: d.span()}
	case 6:
		p = weir.FixedWindow{Limit: d.number(), Per: d.span(), FromFirst: true}
	case 7:
		p = weir.SlidingWindow{Limit: d.number(), Per: d.span()}
	case 8:
		k := 2 + d.IntN(4)
		p = weir.SlidingWindow{Limit: d.number(), Per: d.span().Truncate(time.Duration(k)*d.grain) + time.Duration(k)*d.grain, Buckets: k}
	case 9:
		p = weir.SlidingLog{Limit: d.number(), Per: d.span()}
	case 10:
		p = d.calendar()
	case 11:
		p = weir.SingleRateMarker{Committed: d.bucket(), Excess: pick(d.Rand, 0, d.limit/2, d.number())}
	default:
		slow := d.bucket()
		fast := slow
		fast.Limit, fast.Burst = slow.Limit*(1+d.IntN(3)), pick(d.Rand, 0, d.number())
		p = weir.TwoRateMarker{Committed: slow, Peak: fast}
	}
	d.pool = append(d.pool, one(p))
	return one(p)
}

// changed returns the leaf with another number.
func (d *draw) changed(p tree) tree {
	n := d.number()
	if q, ok := p.leaf.(weir.SingleRateMarker); ok {
		q.Excess = pick(d.Rand, 0, n)
		return one(q)
	}
	return numbered(p, n)
}
