package redisstore

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// R16: two servers with three limits each share a Redis, and have 64 connections. Each key gets
// what its policy grants: what a limit denies is lost to none of the others. Requests that succeed
// are settled for nothing by the first limit.
func TestR16_SeveralLimitsOfServersThatShareRedis(t *testing.T) {
	t.Parallel()
	const connections, year = 64, 365 * 24 * time.Hour
	redis := redistest.Single(t)
	policies := map[string]weir.Policy{
		"address": weir.FixedWindow{Limit: 40, Per: year, FromFirst: true},
		"user":    weir.TokenBucket{Limit: 101, Per: 50 * year},
		"service": weir.SlidingLog{Limit: 290, Per: year},
	}
	var limiters map[string]*weir.KeyedLimiter
	newServer := func() *httptest.Server {
		store := newStoreWith(t, newClient(t, redis.Addr()), remote.Config{Prefix: t.Name()})
		limiters = make(map[string]*weir.KeyedLimiter)
		for name, p := range policies {
			limiters[name] = newLimiter(t, store, p, name)
		}
		limit := httplimit.Middleware{
			Limits: []httplimit.Limit{
				{
					Name: "address", Limiter: limiters["address"], Key: httplimit.Header("X-Address"),
					Settle: func(_ *http.Request, status int, _ int64) int {
						if status == http.StatusUnauthorized {
							return 1
						}
						return 0
					},
				},
				{
					Name: "user", Limiter: limiters["user"], Key: httplimit.Header("X-User"),
					Cost: func(r *http.Request) int { return len(r.Header.Get("X-User")) },
				},
				{Name: "service", Limiter: limiters["service"], Key: httplimit.Everyone},
			},
			Warn: func(c httplimit.Check, message string) { t.Errorf("%s: %s", c, message) },
			Observe: func(_ *http.Request, d httplimit.Decision) {
				assert.NoError(t, d.Err, d.Name)
			},
		}
		s := httptest.NewServer(limit.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Wrong") != "" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		})))
		t.Cleanup(s.Close)
		s.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = connections
		return s
	}
	servers := []*httptest.Server{newServer(), newServer()}

	var mu sync.Mutex
	counted := make(map[string]int)
	denials := 0
	end := time.Now().Add(runs.Long(3*time.Second, 0))
	var all sync.WaitGroup
	for c := range connections {
		all.Go(func() {
			for i := c; i < runs.Long(20, 12)*connections || time.Now().Before(end); i += connections + 1 {
				s := servers[c%2]
				r, err := http.NewRequest(http.MethodGet, s.URL, nil)
				if !assert.NoError(t, err) {
					return
				}
				address, user := fmt.Sprint("a", i%4), []string{"u1", "u2", "user3", "u4"}[i/4%4]
				r.Header.Set("X-Address", address)
				r.Header.Set("X-User", user)
				if i%3 == 0 {
					r.Header.Set("X-Wrong", "yes")
				}
				resp, err := s.Client().Do(r)
				if !assert.NoError(t, err) {
					return
				}
				_ = resp.Body.Close()
				mu.Lock()
				switch resp.StatusCode {
				case http.StatusTooManyRequests:
					denials++
				case http.StatusUnauthorized:
					counted[address]++
					fallthrough
				case http.StatusOK:
					counted[user] += len(user)
					counted["everyone"]++
				default:
					t.Errorf("status %d", resp.StatusCode)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Positive(t, denials)
	for name, keys := range map[string][]string{
		"address": {"a0", "a1", "a2", "a3"}, "user": {"u1", "u2", "user3", "u4"}, "service": {"everyone"},
	} {
		for _, key := range keys {
			look := take(t, limiters[name], key, 0)
			assert.Equal(t, counted[key], look.Limit-look.Remaining, "%s %s", name, key)
		}
	}
	for _, key := range []string{"u1", "u2", "user3", "u4"} {
		assert.Less(t, take(t, limiters["user"], key, 0).Remaining, len(key), "all that fits was granted")
	}
}
