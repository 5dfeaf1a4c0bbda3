package storetest

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// MemStore: a limiter on the store answers like one on a MemStore at the same instants. The calls
// are takes, bookings that are settled or cancelled later, returns and resets.
func asInMemory(e *env) {
	e.each(append(shapes(10, time.Second), custom(time.Second)...), func(e *env, p weir.Policy) {
		d := differential{
			env: e, there: e.timed(e.store, p), inMemory: e.timed(new(weir.MemStore), p),
			random: rand.New(rand.NewPCG(5, 6)),
		}
		for i := range e.few(1000) {
			switch d.random.IntN(4) {
			case 0:
				e.advance(e.up(time.Duration(d.random.Int64N(int64(300 * time.Millisecond)))))
			case 1:
				e.advance(e.up(d.denied))
			}
			d.step(i)
		}
	})
}

// A differential makes the same calls on two limiters.
type differential struct {
	*env
	there, inMemory limiter
	random          *rand.Rand
	open            [][2]*weir.Reservation
	denied          time.Duration // the last RetryAfter
}

func (d *differential) step(i int) {
	d.Helper()
	ctx := deadlined{context.Background(), d.clock.Now().Add(d.up(time.Duration(d.random.Int64N(int64(3 * time.Second)))))}
	n := d.random.IntN(6)
	switch call := d.random.IntN(16); call {
	default:
		d.both(i, "Take", n, func(l limiter) (weir.Result, int, error) {
			r, err := l.Take(ctx, "k", n)
			return r, 0, err
		})
	case 0, 1:
		d.both(i, "TakeUpTo", n, func(l limiter) (weir.Result, int, error) {
			granted, r, err := l.TakeUpTo(ctx, "k", n)
			return r, granted, err
		})
	case 2, 3, 4:
		var rs []*weir.Reservation
		d.both(i, "Reserve", n, func(l limiter) (weir.Result, int, error) {
			r, err := l.Reserve(ctx, "k", n)
			if err != nil {
				return weir.Result{}, 0, err
			}
			rs = append(rs, r)
			return r.Result, int(d.up(r.Delay()) / time.Microsecond), nil
		})
		d.open = append(d.open, [2]*weir.Reservation(rs))
	case 5, 6, 7:
		if len(d.open) == 0 {
			return
		}
		j := d.random.IntN(len(d.open))
		rs := d.open[j]
		d.open = slices.Delete(d.open, j, j+1)
		d.both(i, "Settle", n, func(l limiter) (weir.Result, int, error) {
			r := rs[0]
			if l.KeyedLimiter != d.there.KeyedLimiter {
				r = rs[1]
			}
			return weir.Result{}, 0, r.Settle(ctx, n)
		})
	case 8:
		d.both(i, "Return", n, func(l limiter) (weir.Result, int, error) { return weir.Result{}, 0, l.Return(ctx, "k", n) })
	case 9:
		if d.random.IntN(4) == 0 {
			d.both(i, "Reset", n, func(l limiter) (weir.Result, int, error) { return weir.Result{}, 0, l.Reset(ctx, "k") })
		}
	}
	d.both(i, "look", 0, func(l limiter) (weir.Result, int, error) {
		r, err := l.Take(ctx, "k", 0)
		return r, 0, err
	})
}

// both makes a call on both limiters, and compares the results.
func (d *differential) both(i int, call string, n int, f func(limiter) (weir.Result, int, error)) {
	d.Helper()
	got, gotMore, err := f(d.there)
	d.denied = got.RetryAfter % time.Hour
	if err != nil {
		d.Fatalf("%s: %s of %d failed: %v", errorsRule, call, n, err)
	}
	want, wantMore, err := f(d.inMemory)
	if err != nil {
		d.Fatalf("%s: %s of %d failed in memory: %v", errorsRule, call, n, err)
	}
	if !d.same(got, want) || gotMore != wantMore {
		d.Fatalf("%s: %#v, call %d after %v, %s of %d: %+v %d, in memory %+v %d",
			likeRule, d.there.plan.Policy, i, d.clock.Now().Sub(start), call, n, got, gotMore, want, wantMore)
	}
}
