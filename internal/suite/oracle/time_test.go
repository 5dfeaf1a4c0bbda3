package oracle

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

func TestR8_NoPolicyDrifts(t *testing.T) {
	rates := []struct {
		limit int
		per   time.Duration
		step  int64 // as long as the policy is asked apart, in nanoseconds
	}{
		{1, year, 86_400_000_000_007},
		{7, time.Second, 10_000_019},
		{3, time.Second, 111_111_113},
		{130, time.Second, 1_000_003},
		{600_000_000, time.Second, 3},
		{fiveBillion, time.Second, 1},
		{1_000_003, time.Minute, 31},
		{97, math.MaxInt64, 1 << 50},
	}
	for _, r := range rates {
		for _, p := range kit.AllPolicies(r.limit, r.per) {
			if s, ok := p.(weir.SlidingWindow); ok && s.Buckets > 0 {
				s.Per -= s.Per % time.Duration(s.Buckets)
				p = s
			}
			t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) {
				t.Parallel()
				k, m := kit.NewKey(t, p), modelOf(p)
				now := kit.T0
				for range runs.Long(1000, 120) {
					now += r.step
					n := max(1, k.Look(now).Remaining*2/3)
					got := k.Ask(now, weir.Ask{N: n})
					want, next := m.ask(now, weir.Ask{N: n})
					if want != got {
						require.Equal(t, want, got)
					}
					m = next
				}
			})
		}
	}
}

// A bucket that is emptied again and again has granted Burst + floor(time*Limit/Per), to the event.
func TestR8_TheSumOfTokensIsExact(t *testing.T) {
	for _, p := range []weir.TokenBucket{
		{Limit: 1, Per: year, Burst: 2},
		{Limit: 7, Per: time.Second},
		{Limit: 600_000_000, Per: time.Second},
		{Limit: fiveBillion, Per: time.Second},
		{Limit: 999_999_937, Per: time.Hour},
	} {
		k, granted := kit.NewKey(t, p), int64(0)
		steps := runs.Long[int64](100_000, 10_000)
		step := max(int64(p.Per)/int64(p.Limit)/3, 1)
		for at := int64(0); at < min(steps*step, 200*int64(year)); at += step {
			granted += int64(k.Fill(kit.T0 + at))
			earned := floor(over(rat(at), eventTime(p.Limit, p.Per)))
			if want := int64(or(p.Burst, p.Limit)) + earned; want != granted {
				require.Equal(t, want, granted, "%+v after %d ns", p, at)
			}
		}
	}
}

// The last of those that queue for 7 a second goes as many sevenths of a second after the first.
func TestR8_TheSlotsOfAQueueAreExact(t *testing.T) {
	const waiting = 100_000
	k := kit.NewKey(t, weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: waiting})
	for i := range int64(waiting + 1) {
		a := k.Ask(kit.T0, weir.Ask{N: 1, MaxWait: math.MaxInt64})
		if want := (i*int64(time.Second) + 6) / 7; !a.Allowed || want != int64(a.Delay) {
			require.True(t, a.Allowed)
			require.EqualValues(t, want, a.Delay)
		}
	}
}

// endsOfPolicies are those at the ends of what New accepts.
func endsOfPolicies() []weir.Policy {
	limits := []int{1, 2, math.MaxInt - 1, math.MaxInt}
	pers := []time.Duration{1, 2, 1 << 61, math.MaxInt64 - 1, math.MaxInt64}
	sizes := []int{0, 1, math.MaxInt}
	var all []weir.Policy
	for _, limit := range limits {
		for _, per := range pers {
			for _, size := range sizes {
				all = append(all, weir.TokenBucket{Limit: limit, Per: per, Burst: size},
					weir.LeakyBucket{Limit: limit, Per: per, Capacity: size})
			}
			all = append(all, weir.FixedWindow{Limit: limit, Per: per},
				weir.FixedWindow{Limit: limit, Per: per, FromFirst: true},
				weir.SlidingWindow{Limit: limit, Per: per},
				weir.SlidingLog{Limit: limit, Per: per})
			if per >= 7 {
				all = append(all, weir.SlidingWindow{Limit: limit, Per: per / 7 * 7, Buckets: 7})
			}
		}
	}
	return all
}

// A trial compares with the model, which has no largest number.
func TestR9_NothingWrapsAround(t *testing.T) {
	for i, p := range endsOfPolicies() {
		if i%runs.Long(1, 7) != 0 {
			continue
		}
		for _, from := range []int64{0, 1, kit.T0, math.MaxInt64} {
			for _, wait := range []time.Duration{0, math.MaxInt64} {
				x := newTrial(t, p)
				for _, n := range []int{1, math.MaxInt, math.MaxInt - 1, math.MaxInt / 2, 2, math.MinInt, 1, math.MaxInt} {
					x.ask(from, weir.Ask{N: n, MaxWait: wait})
					x.ask(math.MaxInt64/2, weir.Ask{N: n, MaxWait: wait})
					x.ask(math.MaxInt64, weir.Ask{N: n, MaxWait: wait})
				}
			}
		}
	}
}

// A store marks a word with the largest number there is, so that no state may be it.
func TestR9_NoWordIsTheStoresMark(t *testing.T) {
	k := kit.NewKey(t, weir.TokenBucket{Limit: 1, Per: 1 << 61})
	require.Equal(t, 1, k.Words())
	for range 3 {
		require.True(t, k.Ask(math.MaxInt64, weir.Ask{N: 1, MaxWait: math.MaxInt64}).Allowed)
	}
	before := slices.Clone(k.State)
	fourth := k.Ask(math.MaxInt64, weir.Ask{N: 1, MaxWait: math.MaxInt64}) // paid for at 1<<64 - 1
	assert.False(t, fourth.Allowed)
	assert.Equal(t, before, k.State)
}

// Before 1970 and after 2262 time stands still: what is used up stays so.
func TestR9_InstantsOutOfRange(t *testing.T) {
	in := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		for _, instants := range [][]time.Time{
			{{}, in(1), in(1500), in(1969), time.Unix(0, -1), time.Unix(0, 0)},
			{in(2263), in(2600), in(9999)},
		} {
			clock := &kit.HandClock{Time: instants[0]}
			l := weir.Must(weir.New(p, weir.WithClock(clock)))
			for range 10 {
				l.Allow("key")
			}
			want, err := l.Take(context.Background(), "key", 1)
			require.NoError(t, err)
			require.False(t, want.Allowed)
			for _, clock.Time = range instants {
				got, err := l.Take(context.Background(), "key", 1)
				require.NoError(t, err)
				assert.Equal(t, want, got, "%v", clock.Time)
			}
		}
	})
}
