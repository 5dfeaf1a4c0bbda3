package change_test

import (
	"context"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// R13: at one instant, no order of changes grants more than the most generous policy.
func TestR13_ChangesDoNotMint_OfALedger(t *testing.T) {
	const h = time.Hour
	calendar := weir.CalendarWindow{Limit: 3, Unit: weir.Hour}
	for _, test := range []struct {
		most     int
		policies []weir.Policy
	}{
		{1000, []weir.Policy{weir.FixedWindow{Limit: 100, Per: h}, weir.FixedWindow{Limit: 1000, Per: h}, weir.TokenBucket{Limit: 1000, Per: h}}},
		{150, []weir.Policy{
			weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 100, Per: h}, Excess: 50},
			weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 100, Per: h}},
		}},
		{3, []weir.Policy{
			weir.FixedWindow{Limit: 1, Per: h},
			weir.All(weir.FixedWindow{Limit: 30, Per: h}, weir.SlidingLog{Limit: 3, Per: h}),
		}},
		{13, []weir.Policy{calendar, weir.Tiers(calendar, weir.FixedWindow{Limit: 10, Per: h, FromFirst: true})}},
		{10, []weir.Policy{ // more than a Ledger tells apart
			weir.FixedWindow{Limit: 10, Per: h},
			weir.TokenBucket{Limit: 10, Per: h},
			weir.SlidingLog{Limit: 10, Per: h},
			weir.SlidingWindow{Limit: 10, Per: h},
			weir.LeakyBucket{Limit: 10, Per: h},
			weir.FixedWindow{Limit: 10, Per: h, FromFirst: true},
			weir.CalendarWindow{Limit: 10, Unit: weir.Day},
		}},
	} {
		k, got := kit.LedgerKey{T: t}, 0
		for range 20 {
			for _, p := range test.policies {
				got += k.Fill(p, kit.T0)
			}
		}
		assert.LessOrEqual(t, got, test.most, "%v", test.policies)
		assert.Positive(t, got)
	}
}

// R14: a key that is asked all the time is not shut for longer than the longest span.
func TestR14_ChangesDoNotShut(t *testing.T) {
	ps := []weir.Policy{
		weir.FixedWindow{Limit: 100, Per: time.Hour, FromFirst: true},
		weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: 2},
		weir.Tiers(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.FixedWindow{Limit: 1000, Per: time.Hour, FromFirst: true}),
	}
	k, shut, last := kit.LedgerKey{T: t}, int64(0), kit.T0
	for i := range runs.Long(400*50, 2000) {
		now := kit.T0 + int64(i)*int64(72*time.Second)
		if k.Ask(ps[i%3], now, weir.Ask{N: 1}).Allowed {
			last = now
		}
		shut = max(shut, now-last)
	}
	assert.Less(t, time.Duration(shut), 3*time.Hour)
}

// R16: what was booked before a change is given back to the policy that charged it. At the Unix
// epoch, too.
func TestR16_CancelAfterAChange(t *testing.T) {
	ctx := context.Background()
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: time.Hour}, weir.WithClock(clock.NewMock())))
	net := 0
	for range 20 {
		r, err := l.Reserve(ctx, "k", 10)
		assert.NoError(t, err)
		if r.Allowed {
			net += 10
		}
		n, _, err := l.TakeUpTo(ctx, "k", 990)
		assert.NoError(t, err)
		net += n
		assert.NoError(t, l.SetPolicy(ctx, weir.TokenBucket{Limit: 10, Per: time.Hour}))
		assert.NoError(t, r.Cancel(ctx))
		if r.Allowed {
			net -= 10
		}
		assert.NoError(t, l.SetPolicy(ctx, weir.TokenBucket{Limit: 1000, Per: time.Hour}))
	}
	assert.LessOrEqual(t, net, 1001)
}

// R16: a Ledger gives back unnamed events to the latest policy first, and at most what that was
// granted.
func TestR16_ReturnGoesToTheLatest(t *testing.T) {
	window, log := weir.FixedWindow{Limit: 100, Per: time.Hour}, weir.SlidingLog{Limit: 50, Per: time.Hour}
	k := kit.LedgerKey{T: t}
	k.Ask(window, 1, weir.Ask{N: 40})
	k.Ask(log, 1, weir.Ask{N: 10})
	k.Ask(log, 1, weir.Ask{N: -15})
	assert.Equal(t, 100-35, k.Remaining(window, 1), "ten of the log, and five of the window")
	k.Ask(window, 1, weir.Ask{N: -1000})
	assert.Equal(t, []int{100, 50}, []int{k.Remaining(window, 1), k.Remaining(log, 1)})
}

// R16: a tier gets back what it paid, even if the last tier has counted the events of another
// policy. Once, the last tier got them back, and 9 of 7 events were granted.
func TestR16_ReturnFreesNoEventsOfOthers(t *testing.T) {
	log, bucket := weir.SlidingLog{Limit: 3, Per: time.Hour}, weir.TokenBucket{Limit: 7, Per: time.Hour}
	k, tiers := kit.LedgerKey{T: t}, weir.Tiers(log, bucket)
	require.True(t, k.Ask(bucket, kit.T0, weir.Ask{N: 6}).Allowed)
	for range 3 {
		require.True(t, k.Ask(tiers, kit.T0, weir.Ask{N: 1}).Allowed)
		k.Ask(tiers, kit.T0, weir.Ask{N: -1})
		var parts []weir.Result
		k.Ask(tiers, kit.T0, weir.Ask{ByComponent: &parts})
		require.Equal(t, []int{3, 1}, []int{parts[0].Remaining, parts[1].Remaining})
	}
}
