package fleet_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// spanOf is how long a key that is used up now takes to recover, in all components.
func spanOf(t *testing.T, p weir.Policy) time.Duration {
	k := kit.NewKey(t, p)
	now := time.Now().UnixNano()
	k.Fill(now)
	longest := time.Duration(k.Expiry(k.State) - now)
	for _, c := range weir.Components(p) {
		longest = max(longest, spanOf(t, c))
	}
	return longest
}

// A larger share counts after a span, to the nanosecond, and a smaller one at once.
func TestShares_SpanOfAChange(t *testing.T) {
	kit.EachInBubble(t, append(kit.AllPolicies(60, time.Minute), kit.MorePolicies(60, time.Minute)...), func(t *testing.T, p weir.Policy) {
		time.Sleep(12345 * time.Millisecond) // the epoch of a bubble is the start of all windows
		shares := fleet.NewShares(new(weir.MemStore))
		l := weir.Must(weir.New(p, weir.WithStore(shares)))
		whole := kit.NewKey(t, p).Look(0).Limit
		left := func() int { return kit.Take(t, l, "k", 0).Remaining }
		grows := func(from, to int) {
			t.Helper()
			span := spanOf(t, p)
			assert.Equal(t, from, left())
			if from == 0 {
				assert.Equal(t, span, kit.Take(t, l, "k", 1).RetryAfter)
			}
			time.Sleep(span - time.Nanosecond)
			assert.Equal(t, from, left())
			time.Sleep(time.Nanosecond)
			assert.Equal(t, to, left())
		}
		assert.Zero(t, left())
		set(t, shares, 0, 2)
		if _, leaky := p.(weir.LeakyBucket); leaky {
			grows(0, whole)
			return
		}
		grows(0, whole/2)
		set(t, shares, 0, 1)
		grows(whole/2, whole)
		set(t, shares, 0, 3)
		assert.Equal(t, whole/3, left())
		set(t, shares, 0, 2)
		time.Sleep(spanOf(t, p) / 2)
		set(t, shares, 0, 1)
		time.Sleep(time.Nanosecond)
		set(t, shares, 1, 3) // as it was, before any of that counted
		assert.Equal(t, whole/3, left())
	})
}

// A component with a larger limit than another is used up by several requests. It then takes longer
// to recover than after all that a single request is granted.
func TestShares_SpanOfALargerComponent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second, minute := weir.TokenBucket{Limit: 10, Per: time.Second}, weir.TokenBucket{Limit: 100, Per: time.Minute}
		shares := sharesOf(t, new(weir.MemStore), 0, 2)
		l := weir.Must(weir.New(weir.All(second, weir.Tiers(minute)), weir.WithStore(shares)))
		limit := func() int { return kit.Take(t, l, "k", 0).Limit }
		time.Sleep(time.Minute)
		require.Equal(t, 5, limit())
		set(t, shares, 0, 1)
		time.Sleep(time.Minute - time.Nanosecond)
		assert.Equal(t, 5, limit())
		time.Sleep(time.Nanosecond)
		assert.Equal(t, 10, limit())
	})
}

// Green events use up the bucket for them, which may take longer to recover than the bucket for
// all.
func TestShares_SpanOfAMarker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, fast := weir.TokenBucket{Limit: 18, Per: time.Minute}, weir.TokenBucket{Limit: 36, Per: time.Minute, Burst: 20}
		shares := sharesOf(t, new(weir.MemStore), 0, 2)
		l := weir.Must(weir.New(weir.TwoRateMarker{Committed: slow, Peak: fast}, weir.WithStore(shares)))
		time.Sleep(time.Minute)
		set(t, shares, 0, 1)
		time.Sleep(time.Minute - time.Nanosecond)
		assert.Equal(t, 10, kit.Take(t, l, "k", 0).Limit)
		time.Sleep(time.Nanosecond)
		assert.Equal(t, 20, kit.Take(t, l, "k", 0).Limit)
	})
}

// Shares that grow one after the other count one after the other.
func TestShares_GrowsInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shares := sharesOf(t, new(weir.MemStore), 0, 6)
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 60, Per: 6 * time.Second}, weir.WithStore(shares)))
		var got []int
		for i := range 12 {
			if n := 6 - i; n > 0 {
				set(t, shares, 0, n)
			}
			got = append(got, kit.Take(t, l, "k", 0).Remaining)
			time.Sleep(time.Second)
		}
		assert.Equal(t, []int{10, 10, 10, 10, 10, 10, 10, 12, 15, 20, 30, 60}, got)
	})
}

// A request that will fit when the share has grown gets that time as RetryAfter, and not Never.
func TestShares_RetryAfterGrowth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shares := sharesOf(t, new(weir.MemStore), 0, 3)
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 90, Per: time.Minute}, weir.WithStore(shares)))
		assert.Equal(t, weir.Never, kit.Take(t, l, "k", 40).RetryAfter)
		set(t, shares, 0, 1)
		time.Sleep(time.Second)
		set(t, shares, 0, 2)
		assert.Equal(t, 59*time.Second, kit.Take(t, l, "k", 40).RetryAfter)
		assert.Equal(t, weir.Never, kit.Take(t, l, "k", 46).RetryAfter)
		require.NoError(t, l.Wait(context.Background(), "k", 40))
		assert.True(t, l.Allow("k"))
	})
}

// A membership ends by itself, and a process that comes back waits as a new one does.
func TestShares_Until(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shares := fleet.NewShares(new(weir.MemStore))
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 60, Per: time.Minute}, weir.WithStore(shares)))
		lease := func(d time.Duration) {
			require.NoError(t, shares.Set(fleet.Membership{Members: 2, Until: time.Now().Add(d)}))
		}
		left := func() int { return kit.Take(t, l, "k", 0).Remaining }
		for range 6 {
			lease(20 * time.Second)
			assert.Zero(t, left())
			time.Sleep(10 * time.Second)
		}
		assert.Equal(t, 30, left())
		time.Sleep(10*time.Second - 1)
		assert.Equal(t, 30, left())
		time.Sleep(time.Nanosecond)
		assert.Zero(t, left())
		assert.Equal(t, weir.Result{RetryAfter: time.Minute, ResetAfter: time.Minute}, kit.Take(t, l, "k", 1))

		lease(time.Hour)
		time.Sleep(time.Minute - time.Nanosecond)
		assert.Zero(t, left())
		assert.Equal(t, time.Duration(1), kit.Take(t, l, "k", 1).RetryAfter)
		time.Sleep(time.Nanosecond)
		assert.Equal(t, 30, left())

		lease(-time.Second)
		assert.Zero(t, left())
		lease(time.Hour)
		assert.Zero(t, left())
	})
}

// Set returns when no decision by the earlier membership is under way.
func TestShares_SetWaitsForDecisions(t *testing.T) {
	mem, asked := new(weir.MemStore), 0
	var shares *fleet.Shares
	var isSet atomic.Bool
	done := make(chan bool)
	shares = sharesOf(t, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		asked++
		go func() {
			defer close(done)
			assert.NoError(t, shares.Set(fleet.Membership{}))
			isSet.Store(true)
		}()
		for range 1000 {
			runtime.Gosched() // Set would have the time
		}
		assert.False(t, isSet.Load())
		return mem.Do(ctx, r)
	}), 0, 1)
	l := weir.Must(weir.New(weir.FixedWindow{Limit: 2, Per: time.Hour}, weir.WithStore(shares)))
	assert.True(t, l.Allow("k"))
	<-done
	assert.False(t, l.Allow("k"))
	assert.Equal(t, 1, asked)
}

func TestShares_Concurrent(t *testing.T) {
	shares := sharesOf(t, new(weir.MemStore), 0, 2)
	l := weir.Must(weir.New(weir.SlidingLog{Limit: 1000, Per: time.Hour}, weir.WithStore(shares)))
	granted := make([]int, 8)
	var all sync.WaitGroup
	for i := range granted {
		all.Go(func() {
			for range 200 {
				if l.Allow("k") {
					granted[i]++
				}
				n, _, err := l.TakeUpTo(context.Background(), "k", 2)
				assert.NoError(t, err)
				granted[i] += n
			}
		})
	}
	for i := range 100 {
		set(t, shares, 0, 2+i%2)
	}
	all.Wait()
	sum := 0
	for _, n := range granted {
		sum += n
	}
	assert.LessOrEqual(t, sum, 500)
	assert.GreaterOrEqual(t, sum, 333)
}
