package rules

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// counting are policies that count events, and do not earn them.
func counting() []weir.Policy {
	log, window := weir.SlidingLog{Limit: 10, Per: time.Hour}, weir.FixedWindow{Limit: 10, Per: 2 * time.Hour, FromFirst: true}
	return []weir.Policy{
		log, window,
		weir.FixedWindow{Limit: 10, Per: time.Hour},
		weir.FixedWindow{Limit: 1 << 28, Per: time.Second}, // of two words
		weir.SlidingWindow{Limit: 10, Per: time.Hour},
		weir.SlidingWindow{Limit: 10, Per: time.Hour, Buckets: 6},
		weir.CalendarWindow{Limit: 10, Unit: weir.Month},
		weir.All(log, window),
		weir.Tiers(weir.SlidingLog{Limit: 2, Per: time.Hour}, window),
	}
}

// R4 and R6: RetryAfter and ResetAfter are times by the caller's clock, also if it is behind another
// clock by which the key has been counted. Once, they began at the instant of that other clock. A
// SlidingLog then denied again after RetryAfter, with the same RetryAfter, until the clock had caught
// up: a caller of Wait asked 20,000 times if its turn was a microsecond away, and its clock 20 ms
// behind.
func TestR4_ByAClockThatIsBehind(t *testing.T) {
	ctx := context.Background()
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, p := range counting() {
		store := new(weir.MemStore)
		limiter := func(c weir.Clock) *weir.KeyedLimiter {
			return weir.Must(weir.New(p, weir.WithStore(store), weir.WithName("both"), weir.WithClock(c)))
		}
		ahead, behind := &kit.HandClock{Time: march}, &kit.HandClock{Time: march.Add(-50 * time.Millisecond)}
		first, l := limiter(ahead), limiter(behind)
		take := func(n int) weir.Result {
			r, err := l.Take(ctx, "key", n)
			require.NoError(t, err)
			return r
		}
		require.True(t, first.Allow("key"))
		ahead.Time = march.Add(time.Millisecond)
		for granted := 1; granted > 0; {
			granted, _, _ = first.TakeUpTo(ctx, "key", 1<<29)
		}

		start, denied := behind.Time, take(1)
		look := func(after time.Duration) weir.Result {
			behind.Time = start.Add(after)
			return take(0)
		}
		before := look(denied.RetryAfter - 1)
		assert.Zero(t, before.Remaining, "%v", p)
		assert.Equal(t, denied.ResetAfter-denied.RetryAfter+1, before.ResetAfter, "%v", p)
		assert.Equal(t, time.Duration(1), take(1).RetryAfter, "%v", p)
		assert.Positive(t, look(denied.RetryAfter).Remaining, "%v", p)
		assert.Zero(t, look(denied.ResetAfter).ResetAfter, "%v", p)
	}
}

// R16: events that are granted behind the latest instant of their key count from that instant. They
// are given back there, whichever clock the key had been counted by: that of another limiter, or of
// a process that saved its store before the clock was set back.
func TestR16_GivenBackWhereALaterClockHadCounted(t *testing.T) {
	ctx := context.Background()
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) // all windows begin
	behind := &kit.HandClock{Time: march.Add(-50 * time.Millisecond)}
	for _, p := range counting() {
		store := new(weir.MemStore)
		l := weir.Must(weir.New(p, weir.WithStore(store), weir.WithName("both"), weir.WithClock(&kit.HandClock{Time: march})))
		require.True(t, l.Allow("key"))
		var file bytes.Buffer
		require.NoError(t, store.Save(&file))
		loaded := new(weir.MemStore)
		require.NoError(t, loaded.Load(&file))

		for name, store := range map[string]*weir.MemStore{"another limiter": store, "set back": loaded} {
			l := weir.Must(weir.New(p, weir.WithStore(store), weir.WithName("both"), weir.WithClock(behind)))
			before, err := l.Take(ctx, "key", 0)
			require.NoError(t, err)
			for _, n := range []int{0, 1} { // Cancel, and Settle
				r, err := l.Reserve(ctx, "key", 5)
				require.NoError(t, err)
				require.True(t, r.Allowed)
				require.NoError(t, r.Settle(ctx, n))
				after, err := l.Take(ctx, "key", 0)
				require.NoError(t, err)
				assert.Equal(t, before.Remaining-n, after.Remaining, "%v, %s, settled for %d", p, name, n)
			}
		}
	}
}

// R16: a grant is charged what it says, even if its Charges were those of another grant before.
func TestR16_AGrantReplacesTheChargesOfAnother(t *testing.T) {
	kit.EachKind(t, func(t *testing.T, p weir.Policy) {
		for _, first := range []int64{kit.T0, kit.T0 + int64(time.Hour)} { // at T0 a clock is then behind
			k := kit.NewKey(t, p)
			require.True(t, k.Ask(first, weir.Ask{N: 1}).Allowed)
			want, got := []weir.Charge{}, []weir.Charge{{N: 7, Before: 1, For: 2, Late: time.Hour, ForRest: 3}}
			k.Copy().Ask(kit.T0, weir.Ask{N: 1, Mode: weir.Regardless, Charges: &want})
			k.Ask(kit.T0, weir.Ask{N: 1, Mode: weir.Regardless, Charges: &got})
			assert.Equal(t, want, got)
		}
	})
}

// R7: windows know the latest instant also after all its events were given back. Otherwise an older
// instant would have a fresh window each time.
func TestR7_WindowsKnowTheTimeOfEventsThatWereGivenBack(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 10, Per: time.Second},
		weir.FixedWindow{Limit: 10, Per: time.Second, FromFirst: true},
		weir.SlidingWindow{Limit: 10, Per: time.Second},
		weir.SlidingWindow{Limit: 10, Per: time.Second, Buckets: 5},
	} {
		k, granted := kit.NewKey(t, p), 0
		for range 5 {
			late := kit.T0 + int64(time.Minute)
			if k.Ask(late, weir.Ask{N: 1}).Allowed {
				k.Ask(late, weir.Ask{N: -1})
			}
			granted += k.Fill(kit.T0)
		}
		assert.Equal(t, 10, granted, "%v", p)
	}
}

// R7, R16: to give back what no longer counts changes nothing, not even what the state knows of time.
// By another clock, events may still count.
func TestR7_NothingGivenBackChangesNothing(t *testing.T) {
	kit.EachKind(t, func(t *testing.T, p weir.Policy) {
		k := kit.NewKey(t, p)
		require.True(t, k.Ask(kit.T0, weir.Ask{N: 1}).Allowed)
		before := slices.Clone(k.State)
		for _, ask := range []weir.Ask{
			{N: -1},
			{N: -1, GrantedAt: kit.T0, Charges: &[]weir.Charge{{N: 1, For: time.Hour}}},
		} {
			late := k.Expiry(k.State) + int64(time.Minute)
			assert.True(t, k.Ask(late, ask).Allowed)
			assert.Equal(t, before, k.State)
		}
		var l weir.Ledger
		by := weir.Rule{Policy: p, Decider: k.Decider}
		l, _, _, err := l.Decide(by, kit.T0, weir.Ask{N: 1})
		require.NoError(t, err)
		_, _, changed, err := l.Decide(by, l.Expiry()+int64(time.Minute), weir.Ask{N: -1})
		require.NoError(t, err)
		assert.False(t, changed, "a store need not write")
	})
}

// R7: what is given back takes no instant with it. A process whose clock is ahead, and that returns
// what it takes, begins windows early, but does not make them shorter.
func TestR7_AWindowFromItsFirstEventIsNotShortenedByReturns(t *testing.T) {
	ctx, p := context.Background(), weir.FixedWindow{Limit: 3, Per: time.Minute, FromFirst: true}
	start := time.Unix(0, kit.T0)
	ahead, clock := &kit.HandClock{Time: start.Add(5 * time.Second)}, &kit.HandClock{Time: start}
	store := new(weir.MemStore)
	limiter := func(c weir.Clock) *weir.KeyedLimiter {
		return weir.Must(weir.New(p, weir.WithStore(store), weir.WithName("both"), weir.WithClock(c)))
	}
	returning, taking := limiter(ahead), limiter(clock)
	granted, minutes := 0, 100
	for range minutes * 60 {
		if returning.Allow("key") {
			require.NoError(t, returning.Return(ctx, "key", 1))
		}
		for taking.Allow("key") {
			granted++
		}
		ahead.Time, clock.Time = ahead.Add(time.Second), clock.Add(time.Second)
	}
	assert.LessOrEqual(t, granted, p.Limit*(minutes+1))
}

// A window has room for a debt as large as its limit. What is given back then is free to the event,
// and a raised limit frees the difference.
func TestR16_AWindowInDebtCountsExactly(t *testing.T) {
	ctx := context.Background()
	for _, limit := range []int{1<<29 - 1, 1 << 29, 1<<30 - 3, 1<<30 - 1} { // of one word, and of two
		p := weir.CalendarWindow{Limit: limit, Unit: weir.Year}
		l := weir.Must(weir.New(p))
		first, err := l.Reserve(ctx, "key", 1)
		require.NoError(t, err)
		rest, err := l.Reserve(ctx, "key", limit-1)
		require.NoError(t, err)
		require.NoError(t, first.Settle(ctx, 10))
		require.NoError(t, rest.Cancel(ctx))
		look, err := l.Take(ctx, "key", 0)
		require.NoError(t, err)
		assert.Equal(t, limit-10, look.Remaining)

		all, err := l.Reserve(ctx, "all", limit)
		require.NoError(t, err)
		require.NoError(t, all.Settle(ctx, limit+10))
		p.Limit *= 2
		require.NoError(t, l.SetPolicy(ctx, p))
		look, err = l.Take(ctx, "all", 0)
		require.NoError(t, err)
		assert.Equal(t, limit-10, look.Remaining)
	}
}
