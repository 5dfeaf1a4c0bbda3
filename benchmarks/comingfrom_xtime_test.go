package benchmarks

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/weir-go/weir"
)

func allowByXTime() func(key string) bool {
	var mu sync.Mutex
	clients := map[string]*rate.Limiter{}
	return func(key string) bool {
		mu.Lock()
		defer mu.Unlock()
		l, ok := clients[key]
		if !ok {
			l = rate.NewLimiter(10, 20) // 10 a second, 20 at once
			clients[key] = l
		}
		return l.Allow()
	}
}

func allowByTokenBucket() func(key string) bool {
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 20}))
	return l.Allow
}

func TestComingFromXTime(t *testing.T) {
	bubble(t, "grants", func(t *testing.T) {
		for who, allow := range map[string]func(string) bool{"x/time/rate": allowByXTime(), "weir": allowByTokenBucket()} {
			ask := func() bool { return allow("ann") }
			granted(t, who, 30, ask, 20)
			time.Sleep(time.Second)
			granted(t, who, 30, ask, 10)
			granted(t, who+" another key", 30, func() bool { return allow("bob") }, 20)
		}
	})
	bubble(t, "RetryAfter", func(t *testing.T) {
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 20}))
		l.Take(t.Context(), "ann", 20)
		r, _ := l.Take(t.Context(), "ann", 1)
		is(t, "RetryAfter", r.RetryAfter, 100*time.Millisecond)
		r, _ = l.Take(t.Context(), "ann", 21)
		is(t, "RetryAfter beyond Burst", r.RetryAfter, weir.Never)
		is(t, "Wait beyond Burst", errors.Is(l.Wait(t.Context(), "ann", 21), weir.ErrNeverFits), true)
		is(t, "WaitN beyond the burst fails", rate.NewLimiter(10, 20).WaitN(t.Context(), 21) != nil, true)
	})
	bubble(t, "ten give up", func(t *testing.T) {
		theirs := rate.NewLimiter(rate.Every(time.Hour), 1)
		is(t, "x/time/rate", nextAfterTenGaveUp(t, theirs.Wait), 10*time.Hour-10*time.Second)
		ours := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}))
		wait := func(ctx context.Context) error { return ours.Wait(ctx, "ann", 1) }
		is(t, "weir", nextAfterTenGaveUp(t, wait), time.Hour-10*time.Second)
	})
	t.Run("times out of order", func(t *testing.T) {
		l := rate.NewLimiter(1, 10)
		t0, back := time.Now(), false
		granted(t, "x/time/rate", 2000, func() bool {
			back = !back
			if back {
				return l.AllowN(t0, 1)
			}
			return l.AllowN(t0.Add(10*time.Second), 1)
		}, 2000)
	})
	_, err := weir.New(weir.TokenBucket{Limit: 0, Per: time.Second})
	is(t, "a limit of 0 is refused", err != nil, true)
}

// nextAfterTenGaveUp is how long an ask waits, if ten that came before it gave up in the order in
// which they came, after a second each.
func nextAfterTenGaveUp(t *testing.T, wait func(context.Context) error) time.Duration {
	wait(t.Context()) // the only one that goes at once
	var cancels []context.CancelFunc
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		cancels = append(cancels, cancel)
		go wait(ctx)
		synctest.Wait()
	}
	for _, cancel := range cancels {
		time.Sleep(time.Second)
		cancel()
		synctest.Wait()
	}
	start := time.Now()
	if err := wait(t.Context()); err != nil {
		t.Error(err)
	}
	return time.Since(start)
}
