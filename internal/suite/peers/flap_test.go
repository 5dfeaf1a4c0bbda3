package peers

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A flap is two limiters with different limits, but one name and one store, as while a new
// configuration is rolled out.
type flap struct {
	t        *testing.T
	clock    kit.HandClock
	policies [2]weir.Policy
	two      [2]*weir.KeyedLimiter
}

func newFlap(t *testing.T, p, q weir.Policy) *flap {
	f, store := &flap{t: t, clock: kit.HandClock{Time: time.Unix(0, kit.T0)}, policies: [2]weir.Policy{p, q}}, new(weir.MemStore)
	for i, p := range f.policies {
		f.two[i] = weir.Must(weir.New(p, weir.WithStore(store), weir.WithClock(&f.clock), weir.WithName("api")))
	}
	return f
}

func (f *flap) take(i, n int) weir.Result {
	r, err := f.two[i%2].Take(context.Background(), "key", n)
	require.NoError(f.t, err)
	return r
}

func (f *flap) isQueue(i int) bool {
	_, queue := f.policies[i].(weir.LeakyBucket)
	return queue
}

func (f *flap) isComposed(i int) bool {
	switch f.policies[i].(type) {
	case weir.SingleRateMarker, weir.TwoRateMarker:
		return true
	}
	return weir.Components(f.policies[i]) != nil
}

// eachFlap runs a test of every policy of 100 a minute with every one of 50 a minute.
func eachFlap(t *testing.T, test func(t *testing.T, f *flap)) {
	i := 0
	for _, p := range append(kit.AllPolicies(100, time.Minute), kit.MorePolicies(100, time.Minute)...) {
		for _, q := range append(kit.AllPolicies(50, time.Minute), kit.MorePolicies(50, time.Minute)...) {
			if i++; i%runs.Long(1, 13) != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%#v and %#v", p, q), func(t *testing.T) {
				test(t, newFlap(t, p, q))
				test(t, newFlap(t, q, p))
			})
		}
	}
}

// Once, each change of the limit gave a fresh allowance, so that changing back and forth granted
// everything.
func TestP10_AChangedLimitIsNoFreshAllowance(t *testing.T) {
	eachFlap(t, func(t *testing.T, f *flap) {
		granted := 0
		for i, denied := 0, 0; denied < 20 && granted <= 100; i++ { // in a row
			if denied++; f.take(i, 1).Allowed {
				granted, denied = granted+1, 0
			}
		}
		assert.GreaterOrEqual(t, granted, 1)
		assert.LessOrEqual(t, granted, 100, "at one instant")
		assert.False(t, f.two[0].Allow("key") || f.two[1].Allow("key"))
	})
}

func TestP10_AUsedUpAllowanceStaysSo(t *testing.T) {
	eachFlap(t, func(t *testing.T, f *flap) {
		for range 8 {
			for i := range 2 { // what one has counted may leave the larger one with some
				f.take(i, f.take(i, 0).Remaining)
			}
		}
		for i := range 100 {
			assert.False(t, f.take(i, 1).Allowed)
			assert.Zero(t, f.take(i, 0).Remaining)
		}
	})
}

// Between policies of other kinds, what is used up of one limit counts for the other in proportion,
// rounded up; and between buckets of tokens.
func TestP10_TheShareUsedUpIsCarriedOver(t *testing.T) {
	for _, p := range append(kit.AllPolicies(100, time.Minute), kit.MorePolicies(100, time.Minute)[:2]...) {
		if _, queue := p.(weir.LeakyBucket); queue {
			continue // it has no share: its outlet is free or busy
		}
		for _, test := range []struct{ used, limit, remaining int }{
			{1, 3, 3},
			{34, 3, 2},
			{50, 50, 25},
			{51, 50, 25},
			{1, 1, 1},
			{99, 1000, 10},
			{100, 7, 0},
			{7, 1000, 930},
		} {
			f := newFlap(t, p, weir.TokenBucket{Limit: test.limit, Per: time.Minute})
			f.take(0, test.used)
			assert.Equal(t, test.remaining, f.take(1, 0).Remaining, "%#v, %+v", p, test)
			assert.Equal(t, 100-test.used, f.take(0, 0).Remaining, "which a look does not change")
		}
	}
}

// Denials under one limit do not keep the other shut. Queues time what is in them by their own
// rates, so that between two of them a key opens no earlier than the faster one, and no later than
// the slower.
func TestP10_GoingToAndFroDelaysNobody(t *testing.T) {
	eachFlap(t, func(t *testing.T, f *flap) {
		if f.isComposed(0) || f.isComposed(1) {
			return // one part is taken over, and opens when it would; see TestR2_TwoKindsInTurnKeepNoKeyShut
		}
		f.take(0, f.take(0, 0).Remaining)
		first := f.take(0, 1).RetryAfter
		last := first
		if f.isQueue(0) && f.isQueue(1) {
			other := f.take(1, 1).RetryAfter
			first, last = min(first, other), max(first, other)
		}
		began := f.clock.Time
		for ; f.clock.Before(began.Add(last)); f.clock.Time = f.clock.Add(67 * time.Millisecond) {
			if f.take(0, 1).Allowed {
				require.GreaterOrEqual(t, f.clock.Sub(began), first)
				return
			}
			f.take(1, f.take(1, 0).Limit+1)
			f.take(1, 0)
		}
		f.clock.Time = began.Add(last)
		assert.True(t, f.take(0, 1).Allowed)
	})
}

// In turns, the two grant at least the smaller rate over some minutes, and at most the larger.
func TestP10_GoingToAndFroKeepsTheRate(t *testing.T) {
	minutes := runs.Long(10, 1)
	for _, kind := range append(kit.AllPolicies(1, 1), weir.CalendarWindow{}) {
		t.Run(fmt.Sprintf("%T", kind), func(t *testing.T) {
			f := newFlap(t, withRate(kind, 120), withRate(kind, 60))
			granted := 0
			for i := range minutes * 60 * 20 { // each 50 ms, the one and then the other
				f.clock.Time = time.Unix(0, kit.T0).Add(time.Duration(i) * 50 * time.Millisecond)
				if f.take(i, 1).Allowed {
					granted++
				}
			}
			most := 120
			if kit.IsBucket(kind) { // those of two rates are two (R13)
				most += 60
			}
			assert.LessOrEqual(t, granted, most+minutes*most)
			assert.GreaterOrEqual(t, granted, minutes*60)
		})
	}
}

func withRate(p weir.Policy, limit int) weir.Policy {
	switch p := p.(type) {
	case weir.TokenBucket:
		return weir.TokenBucket{Limit: limit, Per: time.Minute}
	case weir.LeakyBucket:
		return weir.LeakyBucket{Limit: limit, Per: time.Minute}
	case weir.FixedWindow:
		return weir.FixedWindow{Limit: limit, Per: time.Minute, FromFirst: p.FromFirst}
	case weir.SlidingWindow:
		return weir.SlidingWindow{Limit: limit, Per: time.Minute, Buckets: p.Buckets}
	case weir.CalendarWindow:
		return weir.CalendarWindow{Limit: limit, Unit: weir.Minute}
	case weir.SlidingLog:
		return weir.SlidingLog{Limit: limit, Per: time.Minute}
	}
	panic(fmt.Sprintf("%#v is new here", p))
}

// A look that lost against another step on the same key counted an event.
func TestP12_ALookThatLosesConsumesNothing(t *testing.T) {
	const goroutines, rounds, limit = 8, 500, 3000
	for _, p := range append(kit.AllPolicies(limit, time.Hour), kit.MorePolicies(limit, time.Hour)...) {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) {
			l := weir.Must(weir.New(p, weir.WithClock(&kit.HandClock{Time: time.Unix(0, kit.T0)})))
			granted, looks := atomic.Int64{}, sync.WaitGroup{}
			for range goroutines {
				looks.Go(func() {
					for range rounds {
						for _, n := range []int{0, 1, limit + 1} {
							r, err := l.Take(context.Background(), "key", n)
							if assert.NoError(t, err); n == 1 && r.Allowed {
								granted.Add(1)
							}
						}
					}
				})
			}
			looks.Wait()
			r, err := l.Take(context.Background(), "key", 0)
			require.NoError(t, err)
			if _, queue := p.(weir.LeakyBucket); queue {
				assert.EqualValues(t, 1, granted.Load())
				assert.Equal(t, time.Hour/limit, r.ResetAfter)
			} else {
				assert.EqualValues(t, limit, granted.Load())
				assert.Zero(t, r.Remaining)
			}
		})
	}
}

// A denied ask was counted all the same, and its sender had to sit it out.
func TestP12_DenialsRunUpNoDebt(t *testing.T) {
	kit.EachKind(t, func(t *testing.T, p weir.Policy) {
		clock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
		l := weir.Must(weir.New(p, weir.WithClock(clock)))
		for range 10 {
			l.Allow("key")
		}
		before, err := l.Take(context.Background(), "key", 1)
		require.NoError(t, err)
		for range 1000 {
			require.False(t, l.Allow("key"))
		}
		after, err := l.Take(context.Background(), "key", 1)
		require.NoError(t, err)
		assert.Equal(t, before, after)
		clock.Time = clock.Add(before.RetryAfter)
		assert.True(t, l.Allow("key"))
	})
}

// Denials and looks of two limiters in turn keep no key shut, whatever their kinds: both have all
// they ever have when ten times the period is over.
func TestR2_TwoKindsInTurnKeepNoKeyShut(t *testing.T) {
	eachFlap(t, func(t *testing.T, f *flap) {
		for range 2 {
			for i := range 2 {
				f.take(i, f.take(i, 0).Remaining)
			}
		}
		steps := runs.Long(600, 30)
		for range steps {
			f.clock.Time = f.clock.Add(10 * time.Minute / time.Duration(steps))
			for i := range 2 {
				r := f.take(i, 0)
				require.False(t, f.take(i, r.Limit+1).Allowed)
			}
		}
		for i := range 2 {
			r := f.take(i, 0)
			assert.Equal(t, r.Limit, r.Remaining)
		}
	})
}
