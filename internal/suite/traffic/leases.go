package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// leased are policies whose window comes last, doesn't end in a test, and gets back what is not
// used.
func leased(limit int) []weir.Policy {
	quota := weir.FixedWindow{Limit: limit, Per: Year, FromFirst: true}
	return []weir.Policy{
		quota,
		weir.FixedWindow{Limit: limit, Per: 100 * Year},
		weir.CalendarWindow{Limit: limit, Unit: weir.Year, Start: 6},
		weir.SlidingWindow{Limit: limit, Per: 100 * Year},
		weir.SlidingWindow{Limit: limit, Per: 100 * Year, Buckets: 10},
		weir.All(weir.TokenBucket{Limit: 1_000_000_000, Per: Year / 365}, quota),
	}
}

// Leases checks processes with these stores, which share their servers, and a Lease in front of
// each. In the end the store has counted what they have used, to the event, whether the limit is
// used up or not.
func Leases(t *testing.T, stores ...weir.Store) {
	asks := runs.Long(300, 100) // of each caller: in sum about three times as many events as the first limit
	for _, limit := range []int{asks * 20 / 3, 1_000_000} {
		for _, p := range leased(limit) {
			t.Run(fmt.Sprintf("%v", p), func(t *testing.T) {
				name := weir.WithName(fmt.Sprint("leases ", rand.Uint64())) // a server may have served a run before
				bare := weir.Must(weir.New(p, weir.WithStore(stores[0]), name))
				var used atomic.Int64
				var late atomic.Bool // a give-back, which has a second: it is not known whether it was made
				var callers sync.WaitGroup
				var leases []*fleet.LeaseStore
				for _, s := range stores {
					lease := fleet.Lease(s, fleet.LeaseOptions{Report: func(error) { late.Store(true) }})
					leases = append(leases, lease)
					l := weir.Must(weir.New(p, weir.WithStore(lease), name))
					for range 4 {
						callers.Go(func() { takeAll(t, l, asks, &used) })
					}
				}
				callers.Wait()
				for _, lease := range leases {
					kit.NoError(t, lease.Release(t.Context()))
				}
				var results []weir.Result
				whole, err := bare.TakeByComponent(t.Context(), "k", 0, &results)
				kit.NoError(t, err)
				if len(results) == 0 {
					results = append(results, whole)
				}
				window := results[len(results)-1]
				counted := int64(window.Limit - window.Remaining)
				switch {
				case counted < used.Load():
					t.Errorf("counted %d, want at least the %d used", counted, used.Load())
				case counted > used.Load() && !late.Load():
					t.Errorf("counted %d, want the %d used", counted, used.Load())
				}
			})
		}
	}
}

// takeAll takes events of the key in many ways, and counts those that it uses.
func takeAll(t *testing.T, l *weir.KeyedLimiter, asks int, used *atomic.Int64) {
	ctx := context.Background()
	for range asks {
		n, err := 1+rand.IntN(10), error(nil)
		var granted int
		switch r := (weir.Result{}); rand.IntN(8) {
		case 0:
			granted, _, err = l.TakeUpTo(ctx, "k", n)
		case 1:
			if r, err = l.Take(ctx, "k", n); r.Allowed {
				granted = n
			}
		case 2:
			var booked weir.Reservation
			if err = l.ReserveNow(ctx, "k", n, &booked, nil); err == nil && booked.Allowed {
				granted = n / 2
				err = booked.Settle(ctx, granted)
			}
		default:
			if r, err = l.Take(ctx, "k", 1); r.Allowed {
				granted = 1
			}
		}
		if err != nil {
			t.Error(err)
		}
		used.Add(int64(granted))
	}
}
