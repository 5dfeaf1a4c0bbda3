package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A partly is a store that does not work for keys that begin with "bad", and takes a millisecond
// for all others.
type partly struct {
	weir.MemStore
	do     func(context.Context) error // for those keys
	mended atomic.Bool                 // whether it works for them, too
}

func (s *partly) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if strings.HasPrefix(r.Key, "bad") && !s.mended.Load() {
		return weir.Answer{}, s.do(ctx)
	}
	time.Sleep(time.Millisecond)
	return s.MemStore.Do(ctx, r)
}

func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

const ended = "context deadline exceeded" // what such a call reports

func fails(context.Context) error { return kit.ErrStore }

// inPart runs a test in a bubble, on a limiter over a store that works for some keys.
func inPart(t *testing.T, do func(context.Context) error, test func(*weir.KeyedLimiter, *partly, *news)) {
	synctest.Test(t, func(*testing.T) {
		first, n := &partly{do: do}, new(news)
		store := fleet.Fallback(first, new(weir.MemStore), fleet.FallbackOptions{Report: n.report})
		defer time.Sleep(time.Hour) // until all that hangs has returned
		test(weir.Must(weir.New(weir.FixedWindow{Limit: 10, Per: time.Hour}, weir.WithStore(store))), first, n)
	})
}

// traffic takes an event of another key each 5 ms. It returns how many answers were degraded.
func traffic(t *testing.T, l *weir.KeyedLimiter, keys string, during time.Duration) (n int64, degraded *atomic.Int64) {
	degraded = new(atomic.Int64)
	for end := time.Now().Add(during); time.Now().Before(end); n++ {
		go func() {
			if kit.Take(t, l, fmt.Sprint(keys, time.Now().UnixNano()), 1).Degraded {
				degraded.Add(1)
			}
		}()
		time.Sleep(5 * time.Millisecond)
	}
	return n, degraded
}

// One call of a healthy store that hung made an outage of a second for all.
func TestFallback_OneLateCallOfManyIsNoOutage(t *testing.T) {
	inPart(t, hangs, func(l *weir.KeyedLimiter, _ *partly, n *news) {
		go func() { assert.True(t, kit.Take(t, l, "bad", 1).Degraded) }()
		_, degraded := traffic(t, l, "good", time.Second)
		n.told(t, ended)
		_, after := traffic(t, l, "good", time.Second)
		n.told(t, "<nil>")
		assert.Zero(t, degraded.Load()+after.Load())
	})
}

// A store that fails for some keys for a long time is reported once per cool-down, and limits all
// other keys as ever.
func TestFallback_StoreThatFailsForSomeKeys(t *testing.T) {
	for _, do := range []func(context.Context) error{hangs, fails} {
		inPart(t, do, func(l *weir.KeyedLimiter, first *partly, n *news) {
			traffic(t, l, "good", 20*time.Millisecond)
			bad := make(chan [2]int64)
			go func() {
				time.Sleep(time.Millisecond) // after a good one has begun
				all, degraded := traffic(t, l, "bad", 10*time.Second)
				time.Sleep(200 * time.Millisecond)
				bad <- [2]int64{all, degraded.Load()}
			}()
			_, degraded := traffic(t, l, "good", 10500*time.Millisecond)
			result := <-bad
			assert.Zero(t, degraded.Load())
			assert.Equal(t, result[0], result[1])
			assert.InDelta(t, 10, len(n.all), 1)
			assert.NotContains(t, n.all, "<nil>")
			n.all = nil

			first.mended.Store(true)
			_, degraded = traffic(t, l, "bad", 2*time.Second)
			assert.Zero(t, degraded.Load())
			n.told(t, "<nil>")
		})
	}
}

// A store that hangs has an outage as soon as the last grant is older than the budget.
func TestFallback_EarlierGrantsHideNoOutage(t *testing.T) {
	inPart(t, hangs, func(l *weir.KeyedLimiter, _ *partly, n *news) {
		_, degraded := traffic(t, l, "good", 100*time.Millisecond)
		all, bad := traffic(t, l, "bad", 200*time.Millisecond)
		assert.True(t, kit.Take(t, l, "good", 1).Degraded)
		n.told(t, ended)
		assert.Zero(t, degraded.Load())
		assert.Equal(t, all, bad.Load())
	})
}

// Denials do not show that a store can write.
func TestFallback_DenialsHideNoOutage(t *testing.T) {
	inPart(t, fails, func(l *weir.KeyedLimiter, _ *partly, n *news) {
		kit.Take(t, l, "good", 10)
		for range 200 {
			assert.False(t, kit.Take(t, l, "good", 1).Allowed)
		}
		assert.True(t, kit.Take(t, l, "bad", 1).Degraded)
		n.told(t, "the store fails")
		assert.True(t, kit.Take(t, l, "new", 1).Degraded, "in the cool-down")
	})
}

// Late failures are not reported if their outage is known already, or is over.
func TestFallback_LateCallsOfAnOutageAreNoNews(t *testing.T) {
	inPart(t, hangs, func(l *weir.KeyedLimiter, _ *partly, n *news) {
		for range 5 {
			go kit.Take(t, l, "bad", 1)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
		n.told(t, ended)
		time.Sleep(time.Second)
		assert.False(t, kit.Take(t, l, "good", 1).Degraded)
		n.told(t, "<nil>")
	})
}

// While Report takes long, nobody waits for it but the request for which it is called, and that one
// for no other. Of what happens meanwhile, the latest is told. Once "back" could be told before the
// outage, and later a request waited until the outage was over.
func TestFallback_AReportThatTakesLong(t *testing.T) {
	n, inside := new(news), new(atomic.Int32)
	report := func(err error) {
		assert.EqualValues(t, 1, inside.Add(1), "one at a time")
		defer inside.Add(-1)
		n.report(err)
		time.Sleep(1500 * time.Millisecond)
	}
	inPanic(t, report, func(t *testing.T, l *weir.KeyedLimiter, first *shared) {
		longest := time.Duration(0)
		take := func() bool {
			start := time.Now()
			degraded := kit.Take(t, l, fmt.Sprint(start), 1).Degraded
			longest = max(longest, time.Since(start))
			return degraded
		}
		first.fail(kit.ErrStore)
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			assert.True(t, take())
		}
		first.work()
		for range 100 {
			take()
			time.Sleep(100 * time.Millisecond)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		assert.LessOrEqual(t, longest, 1500*time.Millisecond)
		assert.InDelta(t, 40, len(n.all), 3)
		assert.Equal(t, kit.ErrStore.Error(), n.all[0])
		assert.Equal(t, "<nil>", n.all[len(n.all)-1])
		assert.NotContains(t, n.all[:len(n.all)-1], "<nil>")
	})
}
