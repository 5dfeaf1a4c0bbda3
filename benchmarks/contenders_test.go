package benchmarks

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestContenders checks that each contender limits, before it is measured.
func TestContenders(t *testing.T) {
	for _, c := range Contenders() {
		if c.New == nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			switch c.Kind {
			case Counts, Logs:
				admits(t, c.New(Quota{3, time.Hour}), 3)
				exactly(t, c.New(Quota{100, time.Hour}), 100)
			case Paces:
				admits(t, c.New(Quota{3, time.Hour}), 1)
				exactly(t, c.New(Quota{100, time.Hour}), 1)
			case Blocks:
				synctest.Test(t, func(t *testing.T) { sleeps(t, c.New(Quota{1, time.Hour}), time.Hour) })
			case Idle:
			}
		})
	}
}

// admits checks that each of two keys is granted n events, and no more.
func admits(t *testing.T, l Limiter, n int) {
	t.Helper()
	for _, key := range []string{"one key", "another key"} {
		for i := range n {
			if !l.Allow(key) {
				t.Errorf("event %d of %d of %s is denied", i+1, n, key)
			}
		}
		for range 3 {
			if l.Allow(key) {
				t.Errorf("%s is granted more than %d events", key, n)
			}
		}
	}
}

// exactly checks that goroutines who share a key are granted n events together.
func exactly(t *testing.T, l Limiter, n int) {
	t.Helper()
	var (
		wg      sync.WaitGroup
		granted atomic.Int64
	)
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if l.Allow("key") {
					granted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := granted.Load(); got != int64(n) {
		t.Errorf("1600 concurrent asks were granted %d events of %d", got, n)
	}
}

// sleeps checks that l lets the second event of a key wait for d, and the first of another go.
func sleeps(t *testing.T, l Limiter, d time.Duration) {
	t.Helper()
	start := time.Now()
	for _, step := range []struct {
		key  string
		want time.Duration
	}{{"one key", 0}, {"another key", 0}, {"one key", d}} {
		l.Allow(step.key)
		if got := time.Since(start); got != step.want {
			t.Errorf("an event of %s goes after %v, not %v", step.key, got, step.want)
		}
	}
}

// TestMiddlewares checks that each middleware limits by the address and tells so in its headers.
func TestMiddlewares(t *testing.T) {
	for _, c := range Contenders() {
		if c.Wrap == nil || c.Kind == Idle {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			h := c.Wrap(Quota{3, time.Hour}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNoContent)
			}))
			w := &answer{header: make(http.Header)}
			for _, step := range []struct {
				client string
				want   int
			}{
				{"192.0.2.1:1001", 204},
				{"192.0.2.1:1002", 204},
				{"192.0.2.1:1003", 204},
				{"192.0.2.1:1004", 429},
				{"192.0.2.2:1001", 204},
			} {
				w.reset()
				h.ServeHTTP(w, newRequest(step.client))
				if w.status != step.want {
					t.Errorf("%s gets %d, not %d", step.client, w.status, step.want)
				}
				if !tellsLimit(w.header) {
					t.Errorf("no header tells %s of the limit: %v", step.client, w.header)
				}
			}
		})
	}
}

func tellsLimit(h http.Header) bool {
	for name := range h {
		if strings.Contains(strings.ToLower(name), "ratelimit") {
			return true
		}
	}
	return false
}

func TestSelect(t *testing.T) {
	if got := Select([]string{"sethvargo", "x/time"}); len(got) != 5 {
		t.Errorf("sethvargo and x/time are %d contenders, not 5", len(got))
	}
	if got := len(Select(nil)); got != len(Contenders()) {
		t.Errorf("no parts select %d contenders, not all", got)
	}
	if _, err := Find("nobody"); err == nil {
		t.Error("a contender that there is not was found")
	}
	if c, err := Find(Leader); err != nil || c.Name != Leader {
		t.Errorf("%s was not found: %v", Leader, err)
	}
}
