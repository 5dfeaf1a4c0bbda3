package weir_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

const (
	green  = "green"
	yellow = "yellow"
	red    = "red"
)

func color(r weir.Result) string {
	switch {
	case !r.Allowed:
		return red
	case r.DecidedBy == 1:
		return yellow
	}
	return green
}

// An arrival is n events after a time since the start, and how they must be marked.
type arrival struct {
	at   time.Duration
	n    int
	want string
}

func mark(t *testing.T, p weir.Policy, arrivals []arrival) {
	t.Helper()
	k := kit.NewKey(t, p)
	for _, a := range arrivals {
		assert.Equal(t, a.want, color(k.Take(kit.T0+int64(a.at), a.n)), "%d after %v", a.n, a.at)
	}
}

// Worked out by hand by the rules of RFC 2697, with Tc and Te in the comments after each: CIR 10 a
// second, CBS 20, EBS 15.
func TestSingleRateMarkerAsRFC2697(t *testing.T) {
	const s = time.Second
	mark(t, weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: s, Burst: 20}, Excess: 15}, []arrival{
		{0, 12, green},               // 8 15
		{0, 10, yellow},              // 8 5
		{0, 8, green},                // 0 5
		{0, 6, red},                  // 0 5, red takes nothing
		{0, 5, yellow},               // 0 0
		{0, 1, red},                  //
		{s / 10, 1, green},           // 1-1 0
		{s/10 - 1, 1, red},           // an older instant
		{2 * s, 19, green},           // 19-19 0, not full, so that nothing overflows
		{4 * s, 20, green},           // 20-20 0, full just now
		{7 * s, 10, green},           // 20-10, 10 overflowed
		{7 * s, 11, red},             // 10 10
		{7 * s, 10, green},           // 0 10
		{7 * s, 10, yellow},          // 0 0
		{7*s + s/2, 0, green},        // 5 0
		{9 * s, 15, green},           // 20-15 0
		{9 * s, 15, red},             // 5 0
		{100 * s, 21, red},           // 20 15: does not fit in either
		{100 * s, 16, green},         // 4 15
		{100 * s, 15, yellow},        // 4 0
		{100*s + 16*s/10, 20, green}, // 20-20 0
		{102 * s, 5, red},            // 4 0
	})
}

// Worked out by hand by the rules of RFC 2698, with Tc and Tp in the comments after each: CIR 10 a
// second, CBS 20, PIR 20 a second, PBS 30.
func TestTwoRateMarkerAsRFC2698(t *testing.T) {
	const s = time.Second
	mark(t, weir.TwoRateMarker{
		Committed: weir.TokenBucket{Limit: 10, Per: s, Burst: 20},
		Peak:      weir.TokenBucket{Limit: 20, Per: s, Burst: 30},
	}, []arrival{
		{0, 15, green},          // 5 15
		{0, 6, yellow},          // 5 9, yellow takes from Tp alone
		{0, 5, green},           // 0 4
		{0, 5, red},             // 0 4, red takes nothing
		{0, 4, yellow},          // 0 0
		{s / 20, 1, yellow},     // .5 1-1
		{s / 10, 1, green},      // 1-1 1-1
		{s / 10, 1, red},        // 0 0
		{6 * s / 10, 9, yellow}, // 5 10-9
		{6 * s / 10, 2, red},    // 5 1, although Tc has 5
		{6 * s / 10, 1, green},  // 4 0
		{100 * s, 31, red},      // 20 30
		{100 * s, 30, yellow},   // 20 0
		{101 * s, 20, green},    // 0 0
		{102 * s, 11, yellow},   // 10 20-11
		{102 * s, 9, green},     // 1 0
		{103 * s, 21, red},      // 11 20
	})
}

// In the long run nothing goes beyond the committed rate, in any color: Tiers of two buckets earn
// in both.
func TestSingleRateMarkerHasOneRate(t *testing.T) {
	committed := weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 20}
	granted := func(p weir.Policy) int {
		k, n := kit.NewKey(t, p), 0
		for now := kit.T0; now < kit.T0+100*int64(time.Second); now += int64(10 * time.Millisecond) {
			if k.Take(now, 1).Allowed {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 20+15+999, granted(weir.SingleRateMarker{Committed: committed, Excess: 15}))
	excess := weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 15}
	assert.Equal(t, 20+15+2*999-2, granted(weir.Tiers(committed, excess)), "the second was full for 200 ms")
}

func TestMarkersNameEachFault(t *testing.T) {
	for _, c := range []struct {
		policy weir.Policy
		want   string
	}{
		{
			weir.SingleRateMarker{Committed: weir.TokenBucket{Per: 1, Burst: -1}, Excess: -2},
			"weir: Committed of a SingleRateMarker: weir.TokenBucket.Limit is 0, must be at least 1\n" +
				"weir: Committed of a SingleRateMarker: weir.TokenBucket.Burst is -1, must be at least 0\n" +
				"weir: weir.SingleRateMarker.Excess is -2, must be at least 0",
		},
		{
			weir.TwoRateMarker{Peak: weir.TokenBucket{Limit: 1}},
			"weir: Committed of a TwoRateMarker: weir.TokenBucket.Limit is 0, must be at least 1\n" +
				"weir: Committed of a TwoRateMarker: weir.TokenBucket.Per is 0s, must be at least 1ns\n" +
				"weir: Peak of a TwoRateMarker: weir.TokenBucket.Per is 0s, must be at least 1ns",
		},
		{
			weir.TwoRateMarker{Committed: weir.TokenBucket{Limit: 61, Per: time.Minute}, Peak: weir.TokenBucket{Limit: 1, Per: time.Second}},
			"weir: weir.TwoRateMarker.Peak is 1/1s, must be at least as fast as Committed, 61/1m",
		},
	} {
		_, err := weir.New(c.policy)
		assert.EqualError(t, err, c.want)
	}
	_, err := weir.New(weir.TwoRateMarker{Committed: weir.TokenBucket{Limit: 60, Per: time.Minute}, Peak: weir.TokenBucket{Limit: 1, Per: time.Second}})
	assert.NoError(t, err)
}

// Events of which the color is not known do not turn into a better color when they are given back.
func TestMarkersGiveBack(t *testing.T) {
	committed := weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 10}
	single := kit.NewKey(t, weir.SingleRateMarker{Committed: committed, Excess: 5})
	require.Equal(t, green, color(single.Take(kit.T0, 8)))
	require.Equal(t, yellow, color(single.Take(kit.T0, 3)))
	assert.Equal(t, 4, single.Ask(kit.T0, weir.Ask{N: -2}).Remaining, "of yellow")
	assert.Equal(t, 5, single.Ask(kit.T0, weir.Ask{N: -2}).Remaining, "of yellow, all there are; the other is green")
	assert.Equal(t, green, color(single.Take(kit.T0, 3)))
	assert.Equal(t, yellow, color(single.Take(kit.T0, 1)))
	single.Ask(kit.T0, weir.Ask{N: -1000})
	assert.Equal(t, single.Expiry(single.State), kit.T0, "both are full, and no more than full")

	two := kit.NewKey(t, weir.TwoRateMarker{Committed: committed, Peak: weir.TokenBucket{Limit: 2, Per: time.Second, Burst: 15}})
	require.Equal(t, green, color(two.Take(kit.T0, 10)))
	require.Equal(t, yellow, color(two.Take(kit.T0, 5)))
	two.Ask(kit.T0, weir.Ask{N: -9})
	assert.Equal(t, yellow, color(two.Take(kit.T0, 9)))
	assert.Equal(t, red, color(two.Take(kit.T0, 1)))
}

// R16: a yellow event that is given back after the bucket for yellow has earned it makes none green.
func TestR16_YellowEventsAreGivenBackToYellow(t *testing.T) {
	ctx := context.Background()
	l, clock := kit.Frozen(weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 1, Per: time.Second}, Excess: 1})
	first, second := kit.Reserve(t, l, 1), kit.Reserve(t, l, 1)
	require.Equal(t, []int{0, 1}, []int{first.DecidedBy, second.DecidedBy})
	require.NoError(t, first.Cancel(ctx))
	clock.Time = clock.Time.Add(time.Second)
	require.Equal(t, 0, kit.Take(t, l, "k", 1).DecidedBy)
	require.NoError(t, second.Cancel(ctx))
	assert.Equal(t, 1, kit.Take(t, l, "k", 1).DecidedBy)
}

// R17: a marker that undoes its grants, the last first, is as if it had never been asked, whatever the
// colors and whenever they are undone. Otherwise, a request that another of several limits denies
// would use up what is green.
func TestR17_MarkersUndoGrantsLastFirst(t *testing.T) {
	ctx := context.Background()
	l, clock := kit.Frozen(weir.TwoRateMarker{
		Committed: weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2},
		Peak:      weir.TokenBucket{Limit: 1000, Per: time.Second},
	})
	require.Equal(t, green, color(kit.Take(t, l, "k", 1)))
	b, c := kit.Reserve(t, l, 1), kit.Reserve(t, l, 1)
	require.Equal(t, []string{green, yellow}, []string{color(b.Result), color(c.Result)})
	clock.Time = clock.Add(time.Second)
	require.NoError(t, c.Cancel(ctx))
	require.NoError(t, b.Cancel(ctx))
	assert.Equal(t, green, color(kit.Take(t, l, "k", 1)))
	assert.Equal(t, green, color(kit.Take(t, l, "k", 1)))

	for seed := range runs.Long[uint64](20_000, 1_000) {
		r := rand.New(rand.NewPCG(seed, 0))
		kit.UndoLastFirst(t, r, kit.SomeMarker(r), new(weir.MemStore), &kit.HandClock{Time: time.Unix(0, kit.T0)}, "k")
	}
}

// R16: what is given back lowers nothing, also if the buckets of a marker fill only after the year 2262,
// where a Charge ends.
func TestR16_MarkersGiveBackAfter2262(t *testing.T) {
	for seed := range runs.Long[uint64](20_000, 1_000) {
		r := rand.New(rand.NewPCG(seed, 2262))
		l, clock := kit.Frozen(weir.SingleRateMarker{
			Committed: weir.TokenBucket{Limit: 1 + r.IntN(2), Per: 250 * 365 * 24 * time.Hour, Burst: 1 + r.IntN(4)},
			Excess:    r.IntN(5),
		})
		var held []*weir.Reservation
		for range 12 {
			look := kit.Take(t, l, "k", 0)
			switch {
			case len(held) > 0 && r.IntN(2) == 0:
				i := r.IntN(len(held))
				require.NoError(t, held[i].Cancel(context.Background()))
				held = slices.Delete(held, i, i+1)
				require.GreaterOrEqual(t, kit.Take(t, l, "k", 0).Remaining, look.Remaining, "seed %d", seed)
			case look.Remaining > 0:
				held = append(held, kit.Reserve(t, l, 1+r.IntN(look.Remaining)))
			}
			clock.Time = clock.Add(time.Duration(r.IntN(3)) * 50 * 365 * 24 * time.Hour)
		}
	}
}

func TestMarkersUpToAndRegardless(t *testing.T) {
	committed := weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 10}
	single := weir.SingleRateMarker{Committed: committed, Excess: 15}
	two := weir.TwoRateMarker{Committed: committed, Peak: weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 15}}
	for _, p := range []weir.Policy{single, two} {
		k := kit.NewKey(t, p)
		a := k.Ask(kit.T0, weir.Ask{N: 50, Mode: weir.UpTo})
		assert.Equal(t, 15, a.Granted)
		assert.Equal(t, yellow, color(a.Result))
		a = k.Ask(kit.T0, weir.Ask{N: 20, Mode: weir.Regardless})
		assert.Equal(t, yellow, color(a.Result))
		a = k.Ask(kit.T0, weir.Ask{N: 20, Mode: weir.UpTo})
		assert.False(t, a.Allowed, "R19: green is not in debt, but there is less than nothing of both")
	}
}

// R5: a marker of the largest limit, too, tells that all remain.
func TestR5_AMarkerOfTheLargestLimit(t *testing.T) {
	p := weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: math.MaxInt, Per: 1}, Excess: 2}
	assert.Zero(t, kit.NewKey(t, p).Ask(kit.T0, weir.Ask{More: true}).MoreAfter)
}

// R5: a marker whose two buckets hold more than an int is not in debt when more than that is used.
func TestR5_TiersOfAMarkerThatHoldsMoreThanAnInt(t *testing.T) {
	k := kit.NewKey(t, weir.Tiers(weir.SingleRateMarker{
		Committed: weir.TokenBucket{Limit: math.MaxInt, Per: time.Hour}, Excess: math.MaxInt,
	}))
	require.True(t, k.Take(kit.T0, math.MaxInt).Allowed)
	assert.Equal(t, math.MaxInt-1, k.Take(kit.T0, 1).Remaining)
	assert.True(t, k.Take(kit.T0, 1).Allowed)
}

// A relay is a policy of another package that hands on to another.
type relay struct{ weir.Policy }

func (r relay) Decider() (weir.Decider, error) {
	d, err := r.Policy.Decider()
	return struct{ weir.Decider }{d}, err
}

// R16: a composition keeps one Charge for a policy of another package, even if that hands on to a marker.
// Its grant is given back all the same, without its color.
func TestR16_AMarkerBehindAPolicyOfAnotherPackage(t *testing.T) {
	m := weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 2, Per: 2 * time.Second, Burst: 6}, Excess: 5}
	l, _ := kit.Frozen(weir.All(relay{m}, weir.SlidingLog{Limit: 100, Per: time.Second}))
	require.NoError(t, kit.Reserve(t, l, 4).Cancel(background))
	look := kit.Take(t, l, "k", 0)
	assert.Equal(t, 6, look.Remaining)
	assert.Zero(t, look.ResetAfter)
}
