package change_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R15, row 4: where a part of All or of Tiers changes, is added or removed, the parts that stay
// answer as if nothing had happened, to the last field.
func TestR15_PartsThatStayKeepTheirStates(t *testing.T) {
	const hour = time.Hour
	var (
		minute = weir.TokenBucket{Limit: 30, Per: time.Minute}
		window = weir.FixedWindow{Limit: 1000, Per: hour}
		log    = weir.SlidingLog{Limit: 400, Per: hour}
		day    = weir.FixedWindow{Limit: 5000, Per: 24 * hour}
		fewer  = weir.FixedWindow{Limit: 500, Per: hour}
		other  = weir.TokenBucket{Limit: 300, Per: hour}
	)
	for name, compose := range map[string]func(...weir.Policy) weir.Policy{"All": weir.All, "Tiers": weir.Tiers} {
		for _, c := range []struct {
			from, to []weir.Policy
			stay     map[int]int // parts of from, and where they are in to
		}{
			{[]weir.Policy{minute, window}, []weir.Policy{minute, fewer}, map[int]int{0: 0}},
			{[]weir.Policy{minute, window}, []weir.Policy{window, minute}, map[int]int{0: 1, 1: 0}},
			{[]weir.Policy{minute, window}, []weir.Policy{minute, window, day}, map[int]int{0: 0, 1: 1}},
			{[]weir.Policy{log, minute, window}, []weir.Policy{log, window}, map[int]int{0: 0, 2: 1}},
			{[]weir.Policy{log, minute}, []weir.Policy{other, log, minute}, map[int]int{0: 1, 1: 2}},
			{[]weir.Policy{minute, log, log}, []weir.Policy{minute, log}, map[int]int{0: 0, 1: 1}},
		} {
			if name == "Tiers" && len(c.stay) < len(c.from) && len(c.to) < len(c.from) {
				continue // Tiers count as one: what the tier that is gone had paid, the last one is charged
			}
			from, to := compose(c.from...), compose(c.to...)
			k := kit.LedgerKey{T: t}
			for i := range int64(5) {
				require.True(t, k.Ask(from, kit.T0+i*int64(time.Second), weir.Ask{N: 3}).Allowed)
			}
			for _, after := range []time.Duration{4 * time.Second, 30 * time.Second, 20 * time.Minute} {
				var was, is []weir.Result
				k.Ask(from, kit.T0+int64(after), weir.Ask{ByComponent: &was})
				k.Ask(to, kit.T0+int64(after), weir.Ask{ByComponent: &is})
				for i, j := range c.stay {
					assert.Equal(t, was[i], is[j], "%+v to %+v, part %d, after %v", from, to, i, after)
				}
			}
		}
	}
}

// R15, row 4: a part that stays is found, although one with another number counted by its state
// before. A new part that counts alike had taken its state, and it was as new.
func TestR15_APartThatStaysIsFoundWhoeverCountedFirst(t *testing.T) {
	log := func(limit int) weir.Policy { return weir.SlidingLog{Limit: limit, Per: time.Minute} }
	window := weir.FixedWindow{Limit: 1000, Per: time.Hour}
	first, second := weir.Tiers(log(3), window), weir.All(log(2), window)
	k := kit.LedgerKey{T: t}
	require.True(t, k.Ask(first, kit.T0, weir.Ask{N: 1}).Allowed)
	require.True(t, k.Ask(second, kit.T0, weir.Ask{N: 1}).Allowed)
	var was, is []weir.Result
	k.Ask(second, kit.T0, weir.Ask{ByComponent: &was})
	k.Ask(weir.Tiers(log(6), log(2)), kit.T0, weir.Ask{ByComponent: &is})
	assert.Zero(t, was[0].Remaining)
	assert.Equal(t, was[0], is[1])
}

// R15, row 4: what the others used is charged to a part that is new by share, for one span of its
// own.
func TestR15_ANewPartIsChargedByShare(t *testing.T) {
	window, minute := weir.FixedWindow{Limit: 1000, Per: time.Hour}, weir.SlidingLog{Limit: 100, Per: time.Minute}
	k, both := kit.LedgerKey{T: t}, weir.All(window, minute)
	k.Ask(window, kit.T0, weir.Ask{N: 250})
	require.True(t, k.Ask(both, kit.T0, weir.Ask{N: 1}).Allowed)
	var parts []weir.Result
	k.Ask(both, kit.T0, weir.Ask{ByComponent: &parts})
	assert.Equal(t, []int{749, 74}, []int{parts[0].Remaining, parts[1].Remaining})
	k.Ask(both, kit.T0+int64(time.Minute), weir.Ask{ByComponent: &parts})
	assert.Equal(t, []int{749, 100}, []int{parts[0].Remaining, parts[1].Remaining})
}

// R16: a policy becomes a part of another one. Return first frees events that the part still
// counts, and then events that the policy before has counted, also in a part that is gone.
func TestR16_ReturnBeyondWhatAPolicyCounts(t *testing.T) {
	log, window := weir.SlidingLog{Limit: 3, Per: time.Hour}, weir.SlidingWindow{Limit: 3, Per: 2 * time.Hour}
	both, rest := weir.All(log, window), weir.All(window)
	for name, amounts := range map[string][]int{"at once": {3}, "in turn": {1, 1, 1}} {
		k := kit.LedgerKey{T: t}
		for _, p := range []weir.Policy{rest, both, rest} {
			require.True(t, k.Ask(p, kit.T0, weir.Ask{N: 1}).Allowed)
		}
		for _, n := range amounts {
			k.Ask(rest, kit.T0, weir.Ask{N: -n})
		}
		assert.Equal(t, 3, k.Remaining(rest, kit.T0), name)
		assert.Equal(t, 3, k.Remaining(both, kit.T0), name)
	}
}

// R4: while a policy is denied, the last of another's events may expire. A leaf then counts with
// other accounts than before, and RetryAfter tells when the ask is granted all the same.
func TestR4_RetryAfterBeyondTheEndOfAnotherPolicy(t *testing.T) {
	one := weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 1, Per: time.Minute}}
	three := one
	three.Excess = 2
	peak := weir.TokenBucket{Limit: 3, Per: time.Minute, Burst: 1}
	first := weir.All(one, three)
	second := weir.All(weir.LeakyBucket{Limit: 2, Per: time.Second}, three)
	asker := weir.All(one, weir.TwoRateMarker{Committed: one.Committed, Peak: peak})

	k := kit.LedgerKey{T: t}
	assert.True(t, k.Ask(first, kit.T0, weir.Ask{N: 1}).Allowed)
	assert.False(t, k.Ask(asker, kit.T0+1, weir.Ask{N: 1}).Allowed)
	assert.True(t, k.Ask(second, kit.T0+int64(2*time.Second), weir.Ask{N: 1}).Allowed)
	now := kit.T0 + int64(3*time.Second)
	a := k.Ask(asker, now, weir.Ask{N: 1})
	assert.False(t, a.Allowed)
	assert.False(t, k.Ask(asker, now+int64(a.RetryAfter)-1, weir.Ask{N: 1}).Allowed)
	assert.True(t, k.Ask(asker, now+int64(a.RetryAfter), weir.Ask{N: 1}).Allowed)
}

// R16: Return takes the events of the last policy, a reservation's, too. Its Cancel then frees none
// of the policy before, whose event counts to its end.
func TestR16_ReturnOfAReservationsEvent(t *testing.T) {
	ctx := context.Background()
	window := weir.FixedWindow{Limit: 11, Per: time.Hour, FromFirst: true}
	l, clock := kit.Frozen(weir.All(window, weir.SlidingWindow{Limit: 11, Per: time.Hour}))
	require.True(t, l.Allow("k"))
	require.NoError(t, l.SetPolicy(ctx, weir.All(window)))
	r, err := l.Reserve(ctx, "k", 1)
	require.NoError(t, err)
	require.NoError(t, l.Return(ctx, "k", 1))
	require.NoError(t, r.Cancel(ctx))
	assert.Equal(t, 10, kit.Take(t, l, "k", 0).Remaining)
	clock.Time = clock.Add(time.Hour)
	assert.Equal(t, 11, kit.Take(t, l, "k", 0).Remaining)
}
