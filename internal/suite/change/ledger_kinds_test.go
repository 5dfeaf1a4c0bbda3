package change_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R15, row 1: only the numbers of a policy change, in either direction and between all forms that
// words have. The events that were counted stay counted, to the event and the instant.
func TestR15_OnlyTheNumbersChange(t *testing.T) {
	const huge = math.MaxInt / 2 // in two words, where a small limit has one
	hour, odd := time.Hour, time.Hour+1
	ages := int(min(math.MaxInt, int64(math.MaxInt64)/int64(hour))) // Burst beyond 2^62 ns
	kind := func(p func(limit int) weir.Policy, limits ...int) []weir.Policy {
		var ps []weir.Policy
		for _, limit := range limits {
			ps = append(ps, p(limit))
		}
		return ps
	}
	for _, same := range [][]weir.Policy{
		kind(func(n int) weir.Policy { return weir.FixedWindow{Limit: n, Per: hour} }, 10, 25, 1<<30, huge),
		kind(func(n int) weir.Policy { return weir.FixedWindow{Limit: n, Per: hour, FromFirst: true} }, 10, 25, huge),
		kind(func(n int) weir.Policy { return weir.SlidingWindow{Limit: n, Per: hour} }, 10, 25, 1<<20, huge),
		kind(func(n int) weir.Policy { return weir.SlidingWindow{Limit: n, Per: hour, Buckets: 5} }, 10, 25, huge),
		kind(func(n int) weir.Policy { return weir.SlidingLog{Limit: n, Per: hour} }, 10, 25, huge),
		kind(func(n int) weir.Policy { return weir.CalendarWindow{Limit: n, Unit: weir.Day} }, 10, 25, 1<<30, huge),
		kind(func(n int) weir.Policy { return weir.TokenBucket{Limit: 1, Per: hour, Burst: n} }, 10, 25, ages),
		kind(func(n int) weir.Policy { return weir.TokenBucket{Limit: 7, Per: odd, Burst: n} }, 10, 25, ages),
		kind(func(n int) weir.Policy { return weir.All(weir.FixedWindow{Limit: n, Per: hour}) }, 10, 25, huge),
		kind(func(n int) weir.Policy { return weir.Tiers(weir.SlidingLog{Limit: n, Per: hour}) }, 10, 25, huge),
		kind(func(n int) weir.Policy {
			return weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 1, Per: hour, Burst: n}}
		}, 10, 25),
	} {
		for _, from := range same {
			for _, to := range same {
				t.Run(fmt.Sprintf("%+v to %+v", from, to), func(t *testing.T) { onlyTheNumbers(t, from, to) })
			}
		}
	}
}

func onlyTheNumbers(t *testing.T, from, to weir.Policy) {
	fresh := kit.LedgerKey{T: t}
	limit := fresh.Remaining(to, kit.T0)
	for _, used := range []int{3, 10} {
		k, want := kit.LedgerKey{T: t}, kit.LedgerKey{T: t}
		require.True(t, k.Ask(from, kit.T0, weir.Ask{N: used}).Allowed)
		want.Ask(to, kit.T0, weir.Ask{N: used, Mode: weir.Regardless})
		require.Equal(t, max(limit-used, 0), k.Remaining(to, kit.T0))
		for _, at := range []int64{kit.T0, kit.T0 + int64(time.Minute), kit.T0 + int64(time.Hour), kit.T0 + int64(100*time.Minute)} {
			for _, n := range []int{0, 1, 10} {
				got := k.Ask(to, at, weir.Ask{N: n})
				require.Equal(t, want.Ask(to, at, weir.Ask{N: n}).Result, got.Result, "%d after %v", n, time.Duration(at-kit.T0))
			}
		}
	}
}

// R15, row 2: a queue or a bucket of another rate does not shut the key for longer than it would
// have been.
func TestR15_AnotherRateShutsNoKeyForLonger(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.LeakyBucket{Limit: 4, Per: time.Second, Capacity: 10},
		weir.TokenBucket{Limit: 4, Per: time.Second, Burst: 1},
	} {
		for _, q := range []weir.Policy{
			weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 1},
			weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: 3},
			weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: 1},
		} {
			k := kit.LedgerKey{T: t}
			require.True(t, k.Ask(p, kit.T0, weir.Ask{N: 1}).Allowed)
			before := k.Ask(p, kit.T0, weir.Ask{N: 1}).RetryAfter
			after := k.Ask(q, kit.T0, weir.Ask{N: 1})
			assert.False(t, after.Allowed)
			assert.LessOrEqual(t, after.RetryAfter, before, "%#v to %#v", p, q)
			assert.False(t, k.Ask(q, kit.T0+int64(after.RetryAfter)-1, weir.Ask{N: 1}).Allowed)
			assert.True(t, k.Ask(q, kit.T0+int64(after.RetryAfter), weir.Ask{N: 1}).Allowed)
		}
	}
}

// R15, rows 3 and 5: another kind, or another span, is charged by share, rounded down, for its own
// span after the last event.
func TestR15_AnotherKindIsChargedByShare(t *testing.T) {
	hour := int64(time.Hour)
	for _, p := range append(kit.AllPolicies(100, time.Hour), weir.CalendarWindow{Limit: 100, Unit: weir.Hour}) {
		for _, q := range []weir.Policy{
			weir.TokenBucket{Limit: 7, Per: time.Minute},
			weir.SlidingLog{Limit: 7, Per: time.Minute},
			weir.FixedWindow{Limit: 7, Per: time.Minute},
		} {
			if _, queue := p.(weir.LeakyBucket); queue {
				continue // all of it is used, or nothing
			}
			k := kit.LedgerKey{T: t}
			k.Ask(p, kit.T0, weir.Ask{N: 50})
			assert.Equal(t, 7-3, k.Remaining(q, kit.T0), "%#v to %#v", p, q)
			require.Equal(t, 4, k.Fill(q, kit.T0), "which notes when the last event was")
			assert.Positive(t, k.Remaining(q, kit.T0+int64(time.Minute)), "%#v to %#v", p, q)
			assert.Equal(t, 7, k.Remaining(q, kit.T0+3*hour))
		}
	}
}

// R14: policies that differ only in what is left out are one. A store may know a state as that of
// either: by the last of them that has asked, though it was denied. To a policy with several
// buckets of this rate, it must be the same.
func TestR14_DefaultsSaidOrNot(t *testing.T) {
	said, unsaid := weir.TokenBucket{Limit: 3, Per: time.Hour, Burst: 3}, weir.TokenBucket{Limit: 3, Per: time.Hour}
	small, large := weir.TokenBucket{Limit: 3, Per: time.Hour, Burst: 1}, weir.TokenBucket{Limit: 3, Per: time.Hour, Burst: 6}
	for _, next := range []weir.Policy{
		weir.Tiers(small, weir.All(unsaid, unsaid), large),
		weir.Tiers(small, weir.All(said, unsaid), large),
	} {
		var answers []weir.Answer
		for _, by := range []weir.Policy{said, unsaid} {
			d, err := by.Decider()
			require.NoError(t, err)
			state, _ := d.Decide(make([]uint64, d.Words()), kit.T0, weir.Ask{N: 1})
			l := weir.Ledger{By: []weir.Rule{{Policy: by, Decider: d}}, Plain: true, Words: state}
			d, err = next.Decider()
			require.NoError(t, err)
			_, a, _, err := l.Decide(weir.Rule{Policy: next, Decider: d}, kit.T0, weir.Ask{N: 1})
			require.NoError(t, err)
			answers = append(answers, a)
		}
		assert.Equal(t, answers[0], answers[1])
	}
}
