package change_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// At one instant, policies that are asked in turn grant at most as much as the most generous of
// them. Once, each change converted the used events to other numbers, and lost some. Later, the
// share of each other policy was rounded down by itself.
func TestR13_ChangesDoNotMint(t *testing.T) {
	hourly := weir.CalendarWindow{Limit: 3, Unit: weir.Hour}
	for _, test := range []struct {
		most     int // of the most generous
		policies []weir.Policy
	}{
		{1000, []weir.Policy{
			weir.FixedWindow{Limit: 100, Per: time.Hour},
			weir.FixedWindow{Limit: 1000, Per: time.Hour},
			weir.TokenBucket{Limit: 1000, Per: time.Hour},
		}},
		{150, []weir.Policy{
			weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 100, Per: time.Hour}, Excess: 50},
			weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 100, Per: time.Hour}},
		}},
		{3, []weir.Policy{
			weir.FixedWindow{Limit: 1, Per: time.Hour},
			weir.All(weir.FixedWindow{Limit: 30, Per: time.Hour}, weir.SlidingLog{Limit: 3, Per: time.Hour}),
		}},
		{2, []weir.Policy{
			weir.SlidingLog{Limit: 2, Per: time.Hour},
			weir.FixedWindow{Limit: 2, Per: time.Hour},
			weir.TokenBucket{Limit: 1, Per: time.Hour},
		}},
		{13, []weir.Policy{hourly, weir.Tiers(hourly, weir.FixedWindow{Limit: 10, Per: time.Hour, FromFirst: true})}},
	} {
		for _, n := range []int{1, 2, 1 << 30} {
			t.Run(fmt.Sprintf("%#v up to %d", test.policies, n), func(t *testing.T) {
				l, _ := kit.Frozen(test.policies[0])
				sum := 0
				for i := range runs.Long(3000, 250) {
					kit.SetPolicy(t, l, test.policies[i%len(test.policies)])
					granted, _, err := l.TakeUpTo(context.Background(), "k", n)
					require.NoError(t, err)
					sum += granted
				}
				assert.LessOrEqual(t, sum, test.most)
			})
		}
	}
}

// Three policies ask in turn, one every 72 s. Once, 14 events were granted, and then the key was
// shut for 397 of 400 hours. The events of another policy may be charged no longer than the asker's
// own span, which is two hours at most here. Each policy asks every 216 s.
func TestR14_ChangesShutNoKey(t *testing.T) {
	policies := []weir.Policy{
		weir.FixedWindow{Limit: 100, Per: time.Hour, FromFirst: true},
		weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: 2},
		weir.Tiers(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.FixedWindow{Limit: 1000, Per: time.Hour, FromFirst: true}),
	}
	const pause, span = 72 * time.Second, 2 * time.Hour
	hours := time.Duration(runs.Long(400, 20))
	l, clock := kit.Frozen(policies[0])
	last := clock.Time
	for i := 0; clock.Time.Before(time.Unix(0, kit.T0).Add(hours * time.Hour)); i++ {
		kit.SetPolicy(t, l, policies[i%3])
		if l.Allow("k") {
			last = clock.Time
		}
		require.LessOrEqual(t, clock.Sub(last), span+6*pause, "without a grant")
		clock.Time = clock.Add(pause)
	}
}

// A cancelled booking goes back to where it was counted, and frees there no more than it took. It
// was given back to the policy of the day, of which it was everything: 20 rounds took 19,800 of
// 1,000, net.
func TestR16_CancelAfterAChangeFreesWhatWasCharged(t *testing.T) {
	for _, p := range []struct{ large, small weir.Policy }{
		{weir.TokenBucket{Limit: 1000, Per: time.Hour}, weir.TokenBucket{Limit: 10, Per: time.Hour}},
		{weir.FixedWindow{Limit: 1000, Per: time.Hour}, weir.TokenBucket{Limit: 10, Per: time.Hour}},
		{weir.FixedWindow{Limit: 1000, Per: time.Hour}, weir.SlidingLog{Limit: 10, Per: time.Hour}},
		{weir.TokenBucket{Limit: 1000, Per: time.Hour}, weir.FixedWindow{Limit: 10, Per: time.Hour}},
	} {
		t.Run(fmt.Sprintf("%#v and %#v", p.large, p.small), func(t *testing.T) {
			l, _ := kit.Frozen(p.large)
			net := 0
			for range 20 {
				r := kit.Reserve(t, l, 10)
				taken, _, err := l.TakeUpTo(context.Background(), "k", 990)
				require.NoError(t, err)
				kit.SetPolicy(t, l, p.small)
				require.NoError(t, r.Cancel(context.Background()))
				kit.SetPolicy(t, l, p.large)
				net += taken
			}
			assert.LessOrEqual(t, net, 1000+1)
		})
	}
}

// Events of the window that starts with the Unix epoch, where mock clocks start, are given back to
// that one. The instant zero was taken for one that is not known, and they were given back to a
// later window.
func TestR16_CancelOfTheEpochFreesNoLaterWindow(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 10, Per: time.Hour},
		weir.FixedWindow{Limit: 10, Per: time.Hour, FromFirst: true},
		weir.FixedWindow{Limit: 10, Per: 1},
		weir.FixedWindow{Limit: 10, Per: 1, FromFirst: true},
		weir.SlidingLog{Limit: 10, Per: time.Hour},
		weir.SlidingLog{Limit: 10, Per: 1},
		weir.CalendarWindow{Limit: 10, Unit: weir.Hour},
	} {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) {
			mock := clock.NewMock()
			l := weir.Must(weir.New(p, weir.WithClock(mock)))
			r := kit.Reserve(t, l, 5)
			mock.Set(mock.Now().Add(r.ResetAfter))
			require.True(t, kit.Take(t, l, "k", 10).Allowed)
			require.NoError(t, r.Cancel(context.Background()))
			assert.Zero(t, kit.Take(t, l, "k", 0).Remaining)
		})
	}
}

// A bucket counts events until they are paid. Those of a reservation whose ResetAfter has passed
// are given back to nobody.
func TestR16_CancelAfterTheEventsWerePaidFreesNothing(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 10, Per: time.Hour},
		weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: time.Hour}},
	} {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) {
			l, clock := kit.Frozen(p)
			r := kit.Reserve(t, l, 5)
			clock.Time = clock.Add(2 * time.Hour)
			require.True(t, kit.Take(t, l, "k", 10).Allowed)
			require.NoError(t, r.Cancel(context.Background()))
			assert.Zero(t, kit.Take(t, l, "k", 0).Remaining)
		})
	}
}

// A bucket does not know that it earned a reservation's events sooner, because others were given back.
// A burst after a pause is then larger by these others at most.
func TestR17_CancelOfWhatWasEarnedSooner(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 10, Per: time.Hour},
		weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: time.Hour}},
	} {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) {
			l, clock := kit.Frozen(p)
			var late []*weir.Reservation
			for i := range 5 {
				if r := kit.Reserve(t, l, 2); i < 2 {
					require.NoError(t, r.Cancel(context.Background()))
				} else {
					late = append(late, r)
				}
			}
			clock.Time = clock.Add(36 * time.Minute)
			require.True(t, kit.Take(t, l, "k", 10).Allowed)
			for _, r := range late {
				require.NoError(t, r.Cancel(context.Background()))
			}
			assert.LessOrEqual(t, kit.Take(t, l, "k", 0).Remaining, 4)
		})
	}
}

// All that was granted is given back, so that nothing counts. The event that was returned was that
// of the reservation, being the latest, and then Cancel found none at its instant.
func TestR16_CancelAfterReturnLeavesNothing(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.SlidingLog{Limit: 10, Per: time.Hour},
		weir.SlidingWindow{Limit: 10, Per: time.Hour, Buckets: 60},
	} {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) {
			l, clock := kit.Frozen(p)
			require.True(t, kit.Take(t, l, "k", 1).Allowed)
			clock.Time = clock.Add(time.Minute)
			r := kit.Reserve(t, l, 1)
			require.NoError(t, l.Return(context.Background(), "k", 1))
			require.NoError(t, r.Cancel(context.Background()))
			assert.Equal(t, 10, kit.Take(t, l, "k", 0).Remaining)
		})
	}
}

// "Reserve 1, settle 1000, as often as granted" charges the rate in the long run. With tiers and
// markers one part had something left most of the time, whatever the other owed.
func TestR19_ReservingOneAndSettlingMany(t *testing.T) {
	a, b := weir.TokenBucket{Limit: 10, Per: time.Second}, weir.TokenBucket{Limit: 20, Per: time.Second}
	for _, test := range []struct {
		policy weir.Policy
		rate   int // a second; the allowance is as much
		more   int // than that
	}{
		{a, 10, 0},
		{weir.All(a, b), 10, 0},
		{weir.Tiers(a, b), 30, 0},
		{weir.Tiers(b, weir.All(a, b)), 30, 0},
		{weir.SingleRateMarker{Committed: a, Excess: 10}, 10, 10},
		{weir.TwoRateMarker{Committed: a, Peak: b}, 20, 0},
	} {
		t.Run(fmt.Sprintf("%#v", test.policy), func(t *testing.T) {
			const each, actual = 100 * time.Millisecond, 1000
			seconds := runs.Long(3600, 150)
			l, clock := kit.Frozen(test.policy)
			charged := 0
			for range seconds * int(time.Second/each) {
				r, err := l.Reserve(kit.Deadline{Context: context.Background(), At: clock.Time}, "k", 1)
				require.NoError(t, err)
				if r.Allowed {
					require.NoError(t, r.Settle(context.Background(), actual))
					charged += actual
				}
				clock.Time = clock.Add(each)
			}
			assert.LessOrEqual(t, charged, test.rate*(1+seconds)+test.more+actual)
		})
	}
}

// A changed Burst hides no booking that lies ahead. When the first of two was cancelled under a
// raised one, 11 went at 3 s, where the rules allow 10.
func TestR17_ABookingStandsWhenBurstIsRaised(t *testing.T) {
	for _, bursts := range [][]int{{10}, {10, 5, 10}, {1, 10}} {
		l, clock := kit.Frozen(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 3})
		first, booked := kit.Reserve(t, l, 3), kit.Reserve(t, l, 3)
		require.Equal(t, 3*time.Second, booked.Delay())
		for _, burst := range bursts {
			kit.SetPolicy(t, l, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: burst})
			kit.Take(t, l, "k", 1)
		}
		clock.Time = clock.Add(time.Second)
		before := kit.Take(t, l, "k", 0)
		require.NoError(t, first.Cancel(context.Background()))
		assert.Equal(t, before, kit.Take(t, l, "k", 0), "%v", bursts)
		clock.Time = clock.Add(booked.Delay())
		assert.LessOrEqual(t, 3+kit.Take(t, l, "k", 0).Remaining, 10, "%v", bursts)

		last := kit.Take(t, l, "k", 3) // now that it has gone ahead
		require.True(t, last.Allowed)
		before = kit.Take(t, l, "k", 0)
		require.NoError(t, l.Return(context.Background(), "k", 2))
		assert.Equal(t, before.Remaining+2, kit.Take(t, l, "k", 0).Remaining, "%v", bursts)
	}
}

// R6: what ends after the year 2262 is Never while events of several policies count. Otherwise it
// is exact.
func TestR6_TheEndOfTimeInAChange(t *testing.T) {
	const years = 240 * 365 * 24 * time.Hour
	slow := weir.TokenBucket{Limit: 1, Per: years, Burst: 2}
	l, _ := kit.Frozen(slow)
	require.Equal(t, years, kit.Take(t, l, "k", 1).ResetAfter)
	kit.SetPolicy(t, l, weir.FixedWindow{Limit: 10, Per: time.Hour})
	require.True(t, kit.Take(t, l, "k", 1).Allowed)
	kit.SetPolicy(t, l, slow)
	denied := kit.Take(t, l, "k", 2)
	assert.Equal(t, weir.Never, denied.RetryAfter)
	assert.Equal(t, weir.Never, denied.ResetAfter)
	assert.Equal(t, years, kit.Take(t, l, "other", 1).ResetAfter)

	decided := func(l weir.Ledger, p weir.Policy, now int64) (weir.Ledger, weir.Answer) {
		d, err := p.Decider()
		require.NoError(t, err)
		l, a, _, err := l.Decide(weir.Rule{Policy: p, Decider: d}, now, weir.Ask{N: 1})
		require.NoError(t, err)
		return l, a
	}
	ended, _ := decided(weir.Ledger{}, weir.FixedWindow{Limit: 10, Per: time.Hour}, kit.T0)
	want, granted := decided(weir.Ledger{}, slow, kit.T0+int64(2*time.Hour))
	require.Equal(t, years, granted.ResetAfter)
	got, again := decided(ended, slow, kit.T0+int64(2*time.Hour)) // a store may not have dropped it yet
	assert.Equal(t, granted, again)
	assert.Equal(t, want.Words, got.Words)
}
