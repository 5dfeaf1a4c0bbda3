package benchmarks

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/didip/tollbooth/v8"
	tollboothlimiter "github.com/didip/tollbooth/v8/limiter"
	"github.com/go-chi/httprate"
	"github.com/mennanov/limiters"
	sethvargo "github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

type throttledLimiter struct{ *throttled.GCRARateLimiterCtx }

func newThrottled(q Quota) Limiter {
	store := must(memstore.NewCtx(0))
	rate := throttled.RateQuota{MaxRate: throttled.PerDuration(q.Limit, q.Per), MaxBurst: q.Limit - 1}
	l := must(throttled.NewGCRARateLimiterCtx(store, rate))
	l.SetMaxCASAttemptsLimit(math.MaxInt) // after 10 it would give up with an error
	return throttledLimiter{l}
}

func (t throttledLimiter) Allow(key string) bool {
	limited, _, err := t.RateLimitCtx(context.Background(), key, 1)
	return err == nil && !limited
}

type ululeLimiter struct{ *ulule.Limiter }

func newUlule(q Quota) Limiter {
	return ululeLimiter{ulule.New(memory.NewStore(), ulule.Rate{Period: q.Per, Limit: int64(q.Limit)})}
}

func (u ululeLimiter) Allow(key string) bool {
	c, err := u.Get(context.Background(), key)
	return err == nil && !c.Reached
}

type sethvargoLimiter struct{ sethvargo.Store }

func newSethvargo(q Quota) Limiter {
	return sethvargoLimiter{must(memorystore.New(&memorystore.Config{Tokens: uint64(q.Limit), Interval: q.Per}))}
}

func (s sethvargoLimiter) Allow(key string) bool {
	_, _, _, ok, err := s.Take(context.Background(), key)
	return err == nil && ok
}

// httprateLimiter is httprate's middleware without its HTTP: there is no other way to ask it, and the headers take
// more time than the decision.
type httprateLimiter struct {
	limit   float64
	window  time.Duration
	mu      sync.Mutex // as the middleware's
	counter httprate.LimitCounter
}

func newHTTPRate(q Quota) Limiter {
	return &httprateLimiter{limit: float64(q.Limit), window: q.Per, counter: httprate.NewLocalLimitCounter(q.Per)}
}

func (h *httprateLimiter) Allow(key string) bool {
	now := time.Now().UTC()
	window := now.Truncate(h.window)
	h.mu.Lock()
	defer h.mu.Unlock()
	current, previous, err := h.counter.Get(key, window, window.Add(-h.window))
	if err != nil {
		return false
	}
	share := float64(h.window-now.Sub(window)) / float64(h.window)
	if math.Round(float64(previous)*share+float64(current))+1 > h.limit {
		return false
	}
	return h.counter.IncrementBy(key, window, 1) == nil
}

type tollboothLimiter struct{ *tollboothlimiter.Limiter }

func newTollbooth(q Quota) Limiter {
	return tollboothLimiter{tollbooth.NewLimiter(q.perSecond(), nil).SetBurst(q.Limit)}
}

func (t tollboothLimiter) Allow(key string) bool { return !t.LimitReached(key) }

type mennanovOne struct{ *limiters.TokenBucket }

func newMennanov(q Quota) mennanovOne {
	return mennanovOne{limiters.NewTokenBucket(int64(q.Limit), q.interval(), limiters.NewLockNoop(),
		limiters.NewTokenBucketInMemory(), limiters.NewSystemClock(), limiters.NewStdLogger())}
}

func (m mennanovOne) Allow() bool {
	_, err := m.Limit(context.Background())
	return err == nil
}
