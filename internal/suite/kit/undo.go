package kit

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// A deed is a grant that stands, or a debt.
type deed struct {
	at   time.Time
	kind int
	n    int
	got  weir.Result
}

const (
	take = iota
	reserveNow
	reserve
	overrun // reserve n, and settle for 3 more
	deeds
)

// do does a deed with a limiter of its store, whose clock shows at. The deed is over if it was
// denied, unless it is a debt.
func (d *deed) do(t *testing.T, l *weir.KeyedLimiter, key string) (r *weir.Reservation, stands bool) {
	ctx, err := context.Background(), error(nil)
	switch d.kind {
	case take:
		d.got = Take(t, l, key, d.n)
		return nil, d.got.Allowed
	case reserve:
		r, err = l.Reserve(ctx, key, d.n)
	default:
		r = new(weir.Reservation)
		err = l.ReserveNow(ctx, key, d.n, r, nil)
	}
	NoError(t, err)
	if d.got = r.Result; d.kind == overrun {
		NoError(t, r.Settle(ctx, d.n+3))
		return nil, true
	}
	return r, r.Allowed
}

// UndoLastFirst asks a limiter for events of a new key, and cancels some of the reservations, the
// last first. The key must then answer as that of another limiter, which was never asked for what
// is cancelled: it is only asked again for what stands, at the same instants. The store must decide
// by the clock, in whole microseconds.
func UndoLastFirst(t *testing.T, r *rand.Rand, p weir.Policy, store weir.Store, clock *HandClock, key string) {
	own := &HandClock{clock.Time}
	undone := weir.Must(weir.New(p, weir.WithStore(store), weir.WithClock(clock)))
	never := weir.Must(weir.New(p, weir.WithClock(own)))
	frozen := r.IntN(4) == 0
	step := func() {
		if !frozen && r.IntN(3) > 0 {
			clock.Time = clock.Add(time.Duration(r.Int64N(1_500_000)) * time.Microsecond)
		}
	}

	var stand []deed
	var open []*weir.Reservation // of each deed that stands, or nil
	for range 2 + r.IntN(14) {
		step()
		if last := len(open) - 1; last >= 0 && open[last] != nil && r.IntN(2) == 0 {
			NoError(t, open[last].Cancel(context.Background()))
			stand, open = stand[:last], open[:last]
			continue
		}
		d := deed{at: clock.Time, kind: r.IntN(deeds), n: 1 + r.IntN(4)}
		if d.kind == overrun && r.IntN(4) > 0 {
			d.kind = reserve
		}
		if r, stands := d.do(t, undone, key); stands {
			stand, open = append(stand, d), append(open, r)
		}
	}

	for _, d := range stand {
		again := d
		own.Time = d.at
		again.do(t, never, key)
		if again != d {
			t.Fatalf("%v: got %+v, of %+v; without what was cancelled %+v", p, d, stand, again)
		}
	}
	for range 8 {
		step()
		own.Time = clock.Time
		n := r.IntN(4)
		if want, got := Take(t, never, key, n), Take(t, undone, key, n); got != want {
			t.Fatalf("%d of %v, after %+v: got %+v; without what was cancelled %+v", n, p, stand, got, want)
		}
	}
}

// SomeMarker is a marker, alone or in a composition.
func SomeMarker(r *rand.Rand) weir.Policy {
	bucket := func() weir.TokenBucket {
		return weir.TokenBucket{Limit: 1 + r.IntN(7), Per: time.Duration(1+r.IntN(3)) * time.Second, Burst: r.IntN(9)}
	}
	marker := func() weir.Policy {
		b := bucket()
		if r.IntN(2) == 0 {
			return weir.SingleRateMarker{Committed: b, Excess: r.IntN(6)}
		}
		return weir.TwoRateMarker{Committed: b, Peak: weir.TokenBucket{Limit: b.Limit + r.IntN(4), Per: b.Per, Burst: r.IntN(9)}}
	}
	m := marker()
	return []weir.Policy{
		m, m, m,
		weir.All(m, bucket()),
		weir.All(bucket(), m, marker()),
		weir.Tiers(m, bucket()),
		weir.Tiers(bucket(), m),
		weir.Tiers(weir.All(marker(), m), marker()),
		weir.All(weir.Tiers(m, marker()), bucket()),
	}[r.IntN(9)]
}
