package weir_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A store that decides by a clock three days behind, and one that does not report when it decided:
// the limiter counts the delay of a booking from the instant at which it has the answer.
func TestReserve_InstantsThatAreNotOfTheLimitersClock(t *testing.T) {
	p := weir.TokenBucket{Limit: 1, Per: 10 * time.Second}
	for name, change := range map[string]func(*weir.Answer){
		"another clock": func(a *weir.Answer) { a.At, a.ServerTime = a.At-3*int64(24*time.Hour), true },
		"no instant":    func(a *weir.Answer) { a.At = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := new(weir.MemStore)
				l := weir.Must(weir.New(p, weir.WithStore(kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
					a, err := mem.Do(ctx, r)
					change(&a)
					return a, err
				}))))
				kit.Reserve(t, l, 1)
				next := kit.Reserve(t, l, 1)
				assert.Equal(t, 10*time.Second, next.Delay())
				began := time.Now()
				assert.NoError(t, l.Wait(t.Context(), "k", 1))
				assert.Equal(t, 20*time.Second, time.Since(began))
			})
		})
	}
}

// A store over a network gives up with the error of the caller's context, also if the deadline of
// that context is not in real time.
func TestErrorOfAContextInAnotherTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(kit.StoreFunc(
			func(ctx context.Context, _ weir.Request) (weir.Answer, error) {
				<-ctx.Done()
				return weir.Answer{}, ctx.Err()
			}))))
		mock := clock.NewMock()
		for _, call := range []func(ctx context.Context) error{
			func(ctx context.Context) error { return l.Wait(ctx, "k", 1) },
			func(ctx context.Context) error { _, err := l.Reserve(ctx, "k", 1); return err },
			func(ctx context.Context) error { return l.ReserveNow(ctx, "k", 1, new(weir.Reservation), nil) },
			func(ctx context.Context) error { return l.Return(ctx, "k", 1) },
		} {
			ctx, cancel := mock.WithTimeout(t.Context(), time.Second)
			got := make(chan error)
			go func() { got <- call(ctx) }()
			synctest.Wait()
			mock.Add(time.Second)
			err := <-got
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, context.Canceled)
			cancel()
		}
	})
}

// R16: a grant reports its charges for each policy in a composition, at any depth. A give-back that
// names these charges returns them to each policy.
func TestR16_ANamedGrantIsUndoneInCompositions(t *testing.T) {
	bucket, window := weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.FixedWindow{Limit: 100, Per: time.Hour}
	marker := weir.TwoRateMarker{Committed: bucket, Peak: bucket}
	charge := weir.Charge{N: 3, For: 18 * time.Minute}
	for _, c := range []struct {
		policy weir.Policy
		want   []weir.Charge
	}{
		{weir.All(bucket, window), []weir.Charge{charge, {N: 3, For: time.Hour}}},
		{weir.All(weir.All(bucket, bucket), window), []weir.Charge{charge, charge, {N: 3, For: time.Hour}}},
		{weir.All(weir.Tiers(bucket, bucket), window), []weir.Charge{charge, {}, {N: 3, For: time.Hour}}},
		{weir.Tiers(weir.SlidingLog{Limit: 2, Per: time.Hour}, weir.All(bucket, bucket)), []weir.Charge{{}, charge, charge}},
		{weir.All(marker), []weir.Charge{charge, charge}},
		{weir.Tiers(weir.All(weir.Tiers(marker))), []weir.Charge{charge, charge}},
	} {
		k := kit.NewKey(t, c.policy)
		fresh := k.Look(kit.T0)
		var charges []weir.Charge
		require.True(t, k.Ask(kit.T0, weir.Ask{N: 3, Charges: &charges}).Allowed)
		assert.Equal(t, c.want, charges, "%#v", c.policy)
		k.Ask(kit.T0, weir.Ask{N: -3, GrantedAt: kit.T0, Charges: &charges})
		assert.Equal(t, fresh, k.Look(kit.T0), "%#v", c.policy)
	}
}

// However it is asked for, a bucket tells what it charged, and the last grant is undone to the
// instant.
func TestR17_TheLastGrantIsUndone(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 10},
		weir.TokenBucket{Limit: 10, Per: time.Second},
		weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: 10},
		weir.TwoRateMarker{Committed: weir.TokenBucket{Limit: 1, Per: time.Hour}, Peak: weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 10}},
	} {
		for _, ask := range []weir.Ask{{N: 3}, {N: 30, Mode: weir.UpTo}, {N: 30, Mode: weir.Regardless}, {N: 5, MaxWait: weir.Never}} {
			k := kit.NewKey(t, p)
			if ask.Mode != weir.UpTo {
				k.Ask(kit.T0, weir.Ask{N: 6})
			}
			before := k.Copy()
			charges := new([]weir.Charge)
			ask.Charges = charges
			if k.Ask(kit.T0+1, ask).Allowed {
				require.NotEmpty(t, *charges, "%#v, %+v", p, ask)
				k.Ask(kit.T0+2, weir.Ask{N: -(*charges)[0].N, GrantedAt: kit.T0 + 1, Charges: charges})
			}
			assert.Equal(t, before.Look(kit.T0+3), k.Look(kit.T0+3), "%#v, %+v", p, ask)
		}
	}
}

// A denial charges nobody.
func TestR16_ADenialTellsNoCharge(t *testing.T) {
	bucket := weir.TokenBucket{Limit: 10, Per: time.Hour}
	k := kit.NewKey(t, weir.All(bucket, weir.Tiers(bucket, weir.FixedWindow{Limit: 2, Per: time.Hour})))
	var charges []weir.Charge
	require.True(t, k.Ask(kit.T0, weir.Ask{N: 9, Charges: &charges}).Allowed)
	require.False(t, k.Ask(kit.T0, weir.Ask{N: 2, Charges: &charges}).Allowed)
	assert.Equal(t, make([]weir.Charge, 3), charges)
}

// R16: a tier gets back what it paid, and no other does; also at the Unix epoch, where mock clocks
// start.
func TestR16_ATierGetsBackWhatItPaid(t *testing.T) {
	const hour = time.Hour
	for _, at := range []int64{1, kit.T0} {
		k := kit.NewKey(t, weir.Tiers(weir.TokenBucket{Limit: 10, Per: hour}, weir.TokenBucket{Limit: 20, Per: hour}))
		var first, second []weir.Charge
		require.Equal(t, 0, k.Ask(at, weir.Ask{N: 8, Charges: &first}).DecidedBy)
		require.Equal(t, 1, k.Ask(at, weir.Ask{N: 9, Charges: &second}).DecidedBy)
		require.Equal(t, []int{2, 11}, remaining(k, at))
		assert.Equal(t, 0, k.Ask(at, weir.Ask{N: -8, GrantedAt: at, Charges: &first}).DecidedBy)
		assert.Equal(t, []int{10, 11}, remaining(k, at))
		assert.Equal(t, 1, k.Ask(at, weir.Ask{N: -9, GrantedAt: at, Charges: &second}).DecidedBy)
		assert.Equal(t, []int{10, 20}, remaining(k, at))
	}
}

// remaining are those of the parts.
func remaining(k *kit.Key, at int64) []int {
	var parts []weir.Result
	k.Ask(at, weir.Ask{ByComponent: &parts})
	var left []int
	for _, r := range parts {
		left = append(left, r.Remaining)
	}
	return left
}

func TestReturn_GivesBack(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		l, _ := kit.Frozen(p)
		fresh := kit.Take(t, l, "k", 0)
		n := 5
		if _, isQueue := p.(weir.LeakyBucket); isQueue {
			n = 1 // what occupies the outlet for longer may be somebody's place (R17)
		}
		kit.Take(t, l, "k", n)
		require.NoError(t, l.Return(background, "k", 0))
		assert.NotEqual(t, fresh, kit.Take(t, l, "k", 0))
		require.NoError(t, l.Return(background, "k", n))
		assert.Equal(t, fresh, kit.Take(t, l, "k", 0))
		require.NoError(t, l.Return(background, "k", math.MaxInt))
		assert.Equal(t, fresh, kit.Take(t, l, "k", 0), "never more than a full allowance")
		require.NoError(t, l.Return(background, "never seen", 3))
		assert.Equal(t, fresh, kit.Take(t, l, "never seen", 0))
	})
}

// R16: events that count until after the last instant of a clock are given back in full.
func TestR16_EventsThatCountBeyondTheYear2262AreGivenBack(t *testing.T) {
	for _, burst := range []int{100_000, 200_000} { // earned in 273 years, and in more than a Duration holds
		bucket := weir.TokenBucket{Limit: 1, Per: 24 * time.Hour, Burst: burst}
		for _, p := range []weir.Policy{
			bucket,
			weir.LeakyBucket{Limit: 1, Per: 24 * time.Hour, Capacity: burst},
			weir.All(weir.FixedWindow{Limit: burst, Per: time.Hour}, bucket),
			weir.Tiers(bucket, weir.SlidingLog{Limit: 1, Per: time.Hour}),
			weir.SingleRateMarker{Committed: bucket, Excess: 1},
			weir.TwoRateMarker{Committed: bucket, Peak: bucket},
		} {
			l, _ := kit.Frozen(p)
			require.NoError(t, kit.Reserve(t, l, burst).Cancel(background))
			assert.Equal(t, burst, kit.Take(t, l, "k", 0).Remaining, "%v: cancelled", p)
			if _, isQueue := p.(weir.LeakyBucket); isQueue {
				continue // what occupies the outlet for longer may be somebody's place (R17)
			}
			kit.Take(t, l, "k", burst)
			require.NoError(t, l.Return(background, "k", burst))
			assert.Equal(t, burst, kit.Take(t, l, "k", 0).Remaining, "%v: returned", p)

			r := kit.Reserve(t, l, burst)
			other := weir.FixedWindow{Limit: 1, Per: time.Hour}
			require.NoError(t, l.SetPolicy(background, other))
			require.NoError(t, r.Settle(background, 1))
			require.NoError(t, l.SetPolicy(background, p))
			assert.Equal(t, burst-1, kit.Take(t, l, "k", 0).Remaining, "%v: settled after a change", p)

			kit.Take(t, l, "k", burst-1)
			require.NoError(t, l.SetPolicy(background, other))
			require.NoError(t, l.Return(background, "k", burst))
			require.NoError(t, l.SetPolicy(background, p))
			assert.Equal(t, burst, kit.Take(t, l, "k", 0).Remaining, "%v: returned after a change", p)
		}
	}
}

func TestReset_Forgets(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		l, _ := kit.Frozen(p)
		fresh := kit.Take(t, l, "k", 0)
		kit.Take(t, l, "other", 3)
		other := kit.Take(t, l, "other", 0)
		require.NoError(t, kit.Reserve(t, l, 5).Settle(background, 50))
		require.NoError(t, l.Reset(background, "k"))
		assert.Equal(t, fresh, kit.Take(t, l, "k", 0))
		assert.Equal(t, other, kit.Take(t, l, "other", 0))
		require.NoError(t, l.Reset(background, "never seen"))
	})
}
