package httplimit_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// queue is a handler behind a leaky bucket of one a second.
func queue(capacity int, maxWait time.Duration) (httplimit.Middleware, *weir.KeyedLimiter) {
	l := weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: capacity}))
	return httplimit.Middleware{Limiter: l, Key: one, MaxWait: maxWait}, l
}

// send starts n requests, one after the other, and tells what became of them: the status and how
// long it took, in the order in which they were sent.
func send(t *testing.T, rt http.RoundTripper, n int) (statuses []int, took []time.Duration, headers []http.Header) {
	statuses, took, headers = make([]int, n), make([]time.Duration, n), make([]http.Header, n)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			resp, _ := do(t, &http.Client{Transport: rt}, "GET", "http://server/")
			statuses[i], took[i], headers[i] = resp.StatusCode, time.Since(start), resp.Header
		})
		synctest.Wait()
	}
	wg.Wait()
	return
}

func TestMaxWait_HoldsBackInsteadOfRefusing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := queue(10, 3*time.Second)
		rt, stop := inMemory(m.Wrap(ok))
		defer stop()
		statuses, took, headers := send(t, rt, 5)
		assert.Equal(t, []int{200, 200, 200, 200, 429}, statuses)
		assert.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 0}, took, "the last is refused at once")
		assert.Equal(t, "1", headers[4].Get("Retry-After"), "its slot is in 4 s, and it would be held back for 3")
	})
}

// A client that comes back when Retry-After says is held back, and then served; one that comes a
// second earlier is refused.
func TestP24_RetryAfterCountsOnMaxWait(t *testing.T) {
	for _, policy := range []weir.Policy{
		weir.LeakyBucket{Limit: 1, Per: 10 * time.Second, Capacity: 100},
		weir.TokenBucket{Limit: 1, Per: 10 * time.Second, Burst: 1},
		per(1, 10*time.Second),
		weir.FixedWindow{Limit: 1, Per: 10 * time.Second, FromFirst: true},
	} {
		for less, want := range map[time.Duration]int{0: 200, time.Second: 429} {
			synctest.Test(t, func(t *testing.T) {
				l := weir.Must(weir.New(policy))
				m := httplimit.Middleware{Limiter: l, Key: one, MaxWait: 4 * time.Second, Headers: httplimit.RateLimit{}}
				rt, stop := inMemory(m.Wrap(ok))
				defer stop()
				_, _, headers := send(t, rt, 2)
				assert.Equal(t, "6", headers[1].Get("Retry-After"), "%T", policy)
				assert.Equal(t, `"default";r=0;t=6`, headers[1].Get("RateLimit"))

				time.Sleep(6*time.Second - less)
				statuses, _, _ := send(t, rt, 1)
				assert.Equal(t, want, statuses[0], "%T, %v less", policy, less)
			})
		}
	}
}

func TestMaxWait_FullQueueRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := queue(2, time.Hour)
		rt, stop := inMemory(m.Wrap(ok))
		defer stop()
		statuses, took, headers := send(t, rt, 4)
		assert.Equal(t, []int{200, 200, 200, 429}, statuses)
		assert.Zero(t, took[3])
		assert.Equal(t, "3", headers[3].Get("Retry-After"), "when the queue is empty")
	})
}

func TestMaxWait_WhatNeverFitsIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := queue(2, time.Hour)
		m.Cost = func(*http.Request) int { return 3 }
		rt, stop := inMemory(m.Wrap(ok))
		defer stop()
		statuses, took, headers := send(t, rt, 1)
		assert.Equal(t, []int{429}, statuses)
		assert.Zero(t, took[0])
		assert.NotContains(t, headers[0], "Retry-After")
	})
}

// A client that hangs up gives its place back, and those behind it move up.
func TestMaxWait_ClientThatHangsUpLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := queue(10, time.Minute)
		var errs []error
		m.Observe = func(_ *http.Request, d httplimit.Decision) {
			if d.Err != nil {
				errs = append(errs, d.Err)
			}
		}
		reached := 0
		rt, stop := inMemory(m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ })))
		defer stop()

		send(t, rt, 1) // takes the slot of now
		ctx, hangUp := context.WithCancel(context.Background())
		go func() {
			r, _ := http.NewRequestWithContext(ctx, "GET", "http://server/", nil)
			_, err := rt.RoundTrip(r)
			assert.ErrorIs(t, err, context.Canceled)
		}()
		synctest.Wait()
		time.AfterFunc(500*time.Millisecond, hangUp)

		_, took, _ := send(t, rt, 1)
		assert.Equal(t, time.Second, took[0], "not 2 s")
		synctest.Wait()
		require.Len(t, errs, 1)
		assert.ErrorIs(t, errs[0], context.Canceled)
		assert.Equal(t, 2, reached)

		time.Sleep(time.Second)
		look, err := l.Take(context.Background(), "one", 0)
		require.NoError(t, err)
		assert.Zero(t, look.ResetAfter, "nothing is left of it")
	})
}

func TestMaxWait_TellsHeadersAndWaitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []httplimit.Decision
		m, _ := queue(5, time.Minute)
		m.Headers = httplimit.RateLimit{}
		m.Observe = func(_ *http.Request, d httplimit.Decision) { got = append(got, d) }
		rt, stop := inMemory(m.Wrap(ok))
		defer stop()
		_, _, headers := send(t, rt, 2)
		assert.Equal(t, `"default";r=0;t=1`, headers[1].Get("RateLimit"))
		assert.Equal(t, `"default";q=5;w=5`, headers[1].Get("RateLimit-Policy"))
		require.Len(t, got, 2)
		assert.Zero(t, got[0].Waited)
		assert.Equal(t, time.Second, got[1].Waited)
		assert.True(t, got[1].Result.Allowed)
	})
}

// The handler gets the whole decision, also if nobody else asks for it.
func TestMaxWait_InContext(t *testing.T) {
	l, _ := frozen(per(5, time.Minute))
	m := middleware(l, nil)
	m.MaxWait, m.InContext = time.Second, true
	var got []httplimit.Decision
	serve(m.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = httplimit.Decisions(r.Context()) })), request())
	require.Len(t, got, 1)
	assert.Equal(t, 5, got[0].Result.Limit)
	assert.Equal(t, 4, got[0].Result.Remaining)
}

// A request's own deadline, set by a handler further out, counts as well.
func TestMaxWait_RequestDeadlineThatIsSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := queue(100, time.Hour)
		limited := m.Wrap(ok)
		rt, stop := inMemory(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), 1500*time.Millisecond)
			defer cancel()
			limited.ServeHTTP(w, r.WithContext(ctx))
		}))
		defer stop()
		statuses, took, headers := send(t, rt, 3)
		assert.Equal(t, []int{200, 200, 429}, statuses)
		assert.Equal(t, []time.Duration{0, time.Second, 0}, took)
		assert.Equal(t, "2", headers[2].Get("Retry-After"), "it would have no time left after a wait")
	})
}

// Those who wait for a policy without a queue learn late that they are too late: those before them
// may have been granted or not. They are refused then, which is no failure.
func TestMaxWait_TooLateAfterWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.Must(weir.New(per(1, 3*time.Second)))
		m := httplimit.Middleware{Limiter: l, Key: one, MaxWait: 4 * time.Second}
		rt, stop := inMemory(m.Wrap(ok))
		defer stop()
		statuses, _, headers := send(t, rt, 3)
		assert.Equal(t, []int{200, 200, 429}, statuses)
		assert.Equal(t, "1", headers[2].Get("Retry-After"))
	})
}

func TestMaxWait_BrokenLimiterFails(t *testing.T) {
	m := httplimit.Middleware{Limiter: broken(errStore), Key: one, MaxWait: time.Second}
	assert.Equal(t, 503, serve(m.Wrap(ok), request()).StatusCode)
}

// A look that fails after the request was granted does not take the grant away.
func TestMaxWait_LookThatFails(t *testing.T) {
	l := limiterFunc(func(n int) (weir.Result, error) {
		if n == 0 {
			return weir.Result{}, errStore
		}
		return weir.Result{Allowed: true}, nil
	})
	m := httplimit.Middleware{Limiter: l, Key: one, MaxWait: time.Second, Headers: httplimit.XRateLimit{}}
	resp := serve(m.Wrap(ok), request())
	assert.Equal(t, 200, resp.StatusCode)
	assert.NotContains(t, resp.Header, "X-Ratelimit-Limit", "nothing is known to tell")
}

func TestMaxWait_OnLoopback(t *testing.T) {
	l := weir.Must(weir.New(weir.LeakyBucket{Limit: 100, Per: time.Second, Capacity: 100}))
	m := httplimit.Middleware{Limiter: l, Key: httplimit.RemoteIP, MaxWait: time.Minute}
	url, client := loopback(t, m.Wrap(ok))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			resp, _ := do(t, client, "GET", url)
			assert.Equal(t, 200, resp.StatusCode)
		})
	}
	wg.Wait()
}
