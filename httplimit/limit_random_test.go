package httplimit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A modelled limit is one of several, with a model of what it counts.
type modelled struct {
	policy  weir.SlidingLog
	limiter *weir.KeyedLimiter
	store   *kit.Faulty
	settles bool
	granted map[string][]time.Time // the events of each key

	// Of the current request:
	key      string
	cost     int
	settleTo int
}

// counts returns how many events of the key count at an instant.
func (m *modelled) counts(key string, at time.Time) (n int) {
	for _, event := range m.granted[key] {
		if at.Sub(event) < m.policy.Per {
			n++
		}
	}
	return n
}

// after returns the time after which the current request would be granted.
func (m *modelled) after(now time.Time) time.Duration {
	if m.cost > m.policy.Limit {
		return weir.Never
	}
	for d := time.Duration(0); ; d += time.Second { // events come at whole seconds
		if m.counts(m.key, now.Add(d))+m.cost <= m.policy.Limit {
			return d
		}
	}
}

func (m *modelled) applies() bool { return m.cost != 0 && m.key != "skip" }

// Requests at random, to up to five limits with stores that fail, Settles, contexts that have
// ended, and handlers that panic. Each is answered as the limits say, and each limit counts what it
// has granted, to the event: nothing of a request that another has denied.
func TestR16_RandomLimits(t *testing.T) {
	for seed := range runs.Long[uint64](3000, 100) {
		synctest.Test(t, func(t *testing.T) { randomLimits(t, seed) })
	}
}

func randomLimits(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	clock := clock.NewMock()
	all := make([]*modelled, 1+r.IntN(5))
	var limits []httplimit.Limit
	for i := range all {
		m := &modelled{
			policy: per(1+r.IntN(6), time.Duration(1+r.IntN(100))*time.Second),
			store:  new(kit.Faulty), settles: r.IntN(3) == 0, granted: map[string][]time.Time{},
		}
		m.limiter = weir.Must(weir.New(m.policy, weir.WithClock(clock), weir.WithStore(m.store)))
		all[i] = m
		limit := httplimit.Limit{
			Name: strconv.Itoa(i), Limiter: m.limiter,
			Cost: func(*http.Request) int { return m.cost },
			Key: func(*http.Request) (string, error) {
				switch m.key {
				case "skip":
					return "", httplimit.ErrSkip
				case "none":
					return "", httplimit.ErrNoKey
				}
				return m.key, nil
			},
		}
		if m.settles {
			limit.Settle = func(*http.Request, int, int64) int { return m.settleTo }
		}
		limits = append(limits, limit)
	}
	ran, panics := false, false
	h := httplimit.Middleware{Limits: limits, Warn: func(httplimit.Check, string) {}}.Wrap(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			ran = true
			if panics {
				panic(http.ErrAbortHandler)
			}
		}))
	for range 20 {
		clock.Add(time.Duration(max(r.IntN(90)-60, 0)) * time.Second)
		for _, m := range all {
			m.key = []string{"ada", "ada", "ada", "bob", "bob", "skip"}[r.IntN(6)]
			if r.IntN(40) == 0 {
				m.key = "none"
			}
			m.cost = r.IntN(m.policy.Limit + 2)
			m.settleTo = r.IntN(m.policy.Limit + 2)
			m.store.Down.Store(r.IntN(20) == 0)
		}
		req, ended := request(), r.IntN(12) == 0
		if ended {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			req = req.WithContext(ctx)
		}
		status, retryAfter := modelAnswer(all, clock.Now(), ended)
		ran, panics = false, r.IntN(8) == 0
		w := &recorder{header: http.Header{}}
		func() {
			defer func() { _ = recover() }()
			h.ServeHTTP(w, req)
		}()
		require.Equal(t, status == http.StatusOK, ran, "seed %d: want %d", seed, status)
		if !ran {
			require.Equal(t, status, w.status, "seed %d", seed)
			require.Equal(t, retryAfter, w.header.Get("Retry-After"), "seed %d", seed)
		}
		for i, m := range all {
			m.store.Down.Store(false)
			if ran && m.applies() {
				n := m.cost
				if m.settles {
					n = m.settleTo
				}
				for range n {
					m.granted[m.key] = append(m.granted[m.key], clock.Now())
				}
			}
			for _, key := range []string{"ada", "bob"} {
				want := max(m.policy.Limit-m.counts(key, clock.Now()), 0)
				require.Equal(t, want, remaining(t, m.limiter, key), "seed %d: limit %d, %s after %d", seed, i, key, status)
			}
		}
	}
}

// modelAnswer returns the status that the limits must answer with, and Retry-After.
func modelAnswer(all []*modelled, now time.Time, ended bool) (status int, retryAfter string) {
	for _, m := range all {
		if m.applies() && m.key == "none" {
			return http.StatusBadRequest, ""
		}
	}
	for i, m := range all {
		switch {
		case !m.applies():
		case ended || m.store.Down.Load():
			return http.StatusServiceUnavailable, ""
		case m.after(now) > 0:
			longest := m.after(now)
			for _, later := range all[i+1:] {
				if later.applies() && !later.store.Down.Load() {
					longest = max(longest, later.after(now))
				}
			}
			if longest == weir.Never {
				return http.StatusTooManyRequests, ""
			}
			return http.StatusTooManyRequests, fmt.Sprint(longest.Seconds())
		}
	}
	return http.StatusOK, ""
}
