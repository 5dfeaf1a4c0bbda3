package httplimit_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Over 64 connections, each key of each limit gets exactly what its policy grants. What one limit
// denies is lost to none: at the end each key of the binding limits is used up to the event. The
// clock stands still.
func TestR16_LimitsUnderLoad(t *testing.T) {
	const connections, users, addresses = 64, 4, 8
	policies := []weir.Policy{
		weir.FixedWindow{Limit: 500, Per: 1 << 62}, weir.TokenBucket{Limit: 700, Per: 1 << 62}, weir.SlidingLog{Limit: 2500, Per: 1 << 62},
	}
	limits, limiters, _ := threeLimits(policies...)
	limits[2].Key = httplimit.Everyone
	limits[1].Cost = func(r *http.Request) int { return len(r.Header.Get("X-User")) } // 2 or 3
	// One request in three fails, and only those count for the address.
	limits[0].Settle = failuresOnly
	failed := [3]int{401, 200, 404}
	url, client := loopback(t, httplimit.Middleware{Limits: limits, Warn: noWarning(t)}.Wrap(status))
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = connections

	var mu sync.Mutex
	grantedTo := map[string]int{}
	denials := 0
	end := time.Now().Add(runs.Long(5*time.Second, 0))
	var wg sync.WaitGroup
	for c := range connections {
		wg.Go(func() {
			for i := c; i < 60*connections || time.Now().Before(end); i += connections {
				address, user := fmt.Sprint("a", i%addresses), []string{"u1", "u2", "user3", "u4"}[i/addresses%users]
				sent := failed[i/3%3]
				resp, _ := do(t, client, "GET", url, "X-Address", address, "X-User", user, "X-Status", fmt.Sprint(sent))
				mu.Lock()
				if resp.StatusCode != sent {
					assert.Equal(t, 429, resp.StatusCode)
					denials++
				} else {
					grantedTo["everyone"]++
					grantedTo[user] += len(user)
					if sent == 401 {
						grantedTo[address]++
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	assert.Positive(t, denials)
	for i, keys := range [][]string{{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"}, {"u1", "u2", "user3", "u4"}, {"everyone"}} {
		for _, key := range keys {
			assert.Equal(t, grantedTo[key], used(t, limiters[i], key), "%s, %v", key, policies[i])
		}
	}
	for _, user := range []string{"u1", "u2", "user3", "u4"} { // all that fits was granted
		assert.Less(t, remaining(t, limiters[1], user), len(user))
	}
}

// used is how many events of a key the limiter has counted.
func used(t *testing.T, l *weir.KeyedLimiter, key string) int {
	t.Helper()
	before := remaining(t, l, "a key never seen")
	return before - remaining(t, l, key)
}
