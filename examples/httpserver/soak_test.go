package main

import (
	"context"
	"flag"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

var soak = flag.Duration("soak", 0, "how long TestSoak keeps the server busy, at most 50s; 0 for some seconds")

// Many connections ask for more than they may have, and get what the policies allow over that time,
// counted by the clients. Meanwhile the server's memory does not grow.
func TestSoak(t *testing.T) {
	t.Parallel()
	span := *soak
	if span == 0 {
		span = runs.Long(3*time.Second, 500*time.Millisecond)
	}
	require.LessOrEqual(t, span, 50*time.Second, "-soak")
	s, first := startQuickly(t, func() []string { return nil })
	api := &hammer{connections: 64, method: http.MethodGet, url: s.url + "/api/items", earned: earnedByAPI}
	login := &hammer{connections: 4, method: http.MethodPost, url: s.url + "/login", body: "user=ada&password=lovelace"}
	report := &hammer{connections: 8, method: http.MethodGet, url: s.url + "/report"}
	api.add(first)

	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var others sync.WaitGroup
	others.Go(func() { login.run(ctx, t) })
	others.Go(func() { report.run(ctx, t) })
	var memory []int
	others.Go(func() {
		// Until so many have asked, a heap grows that nothing leaks from.
		if api.hasAsked(ctx, 20_000) {
			memory = s.watchMemory(ctx, span/30)
		}
	})
	api.run(ctx, t)

	// When a decision leaves less than one token, the bucket has granted all that it held at first
	// and all that it has earned since. A client knows the instants of the first and the latest
	// decision only to within a request's time. It asks on until both bounds give the same number.
	var least, most int
	for tries := 0; ; tries++ {
		require.Less(t, tries, 10_000, "requests take too long to tell what is allowed")
		a := s.get(t, "/api/items")
		api.add(a)
		r, _ := onlyLimit(t, a, "api")
		least = apiPolicy.Burst + api.earned(api.lastSent.Sub(api.firstReceived))
		most = apiPolicy.Burst + api.earned(api.lastReceived.Sub(api.firstSent))
		if r == 0 && least == most {
			break
		}
	}
	others.Wait()
	assert.LessOrEqual(t, api.granted, most)
	if !api.full {
		assert.Equal(t, most, api.granted)
	} // else the machine stood still for so long that the bucket may have been full, and then earned nothing
	t.Logf("/api/items: %d asked in %v, %d granted, %d allowed by the policy",
		api.asked, api.lastReceived.Sub(api.firstSent).Round(time.Millisecond), api.granted, most)

	// A log grants all of its limit once, and then nothing for a minute.
	require.Less(t, login.lastReceived.Sub(login.firstSent), time.Minute)
	assert.Equal(t, min(loginPolicy.Limit, login.asked), login.granted) // a busy machine asks less often
	t.Logf("/login: %d asked, %d granted, %d allowed by the policy", login.asked, login.granted, loginPolicy.Limit)

	// A queue that refuses has granted one, all that it holds, and one for each slot since the first. By
	// the last answer, so many slots have come.
	slots := func(d time.Duration) int { return 1 + inTime(reportPolicy.Limit, reportPolicy.Per, d) }
	least = reportPolicy.Capacity + slots(report.lastRefused.Sub(report.firstReceived))
	most = slots(report.lastReceived.Sub(report.firstSent))
	if report.pause < time.Duration(reportPolicy.Capacity)*reportPolicy.Per/time.Duration(reportPolicy.Limit) {
		assert.LessOrEqual(t, least, report.granted)
	} // else the queue may have been empty
	assert.LessOrEqual(t, report.granted, most)
	t.Logf("/report: %d asked, %d granted, from %d to %d allowed by the policy", report.asked, report.granted, least, most)

	// There are none on systems that do not tell, nor on a slow machine or in a short run. The race detector
	// remembers what the program has used.
	if n := len(memory); n >= 6 && !runs.Race {
		before, after := slices.Max(memory[:n/2]), slices.Max(memory[n/2:])
		assert.LessOrEqual(t, after, before+4<<10, "the server's memory grows: %d KiB", memory)
		t.Logf("resident memory: %d KiB at the start, %d at most in the first half, %d in the second",
			memory[0], before, after)
	}
}

// startQuickly starts a server that then answers its first request to the API within a fraction of the
// time in which a token is earned, so that a client knows when its bucket began.
// Each try has arguments of its own.
func startQuickly(t *testing.T, args func() []string) (*server, answer) {
	t.Helper()
	for {
		s := start(t, args()...)
		s.get(t, "/health") // connects
		first := s.get(t, "/api/items")
		if first.received.Sub(first.sent) < 20*time.Millisecond {
			return s, first
		}
		require.NoError(t, s.stop(os.Interrupt))
	}
}

// inTime is how many of limit events per per are in d.
func inTime(limit int, per, d time.Duration) int { return int(time.Duration(limit) * d / per) }

// earnedByAPI is how many tokens the bucket of the API earns in d.
func earnedByAPI(d time.Duration) int { return inTime(apiPolicy.Limit, apiPolicy.Per, d) }

// A hammer asks over and over, and counts.
type hammer struct {
	connections       int
	method, url, body string

	earned func(time.Duration) int // what a bucket has earned by so long after its first decision
	full   bool                    // it may have been full since

	mu                  sync.Mutex
	asked, granted      int
	firstSent, lastSent time.Time
	firstReceived       time.Time
	lastReceived        time.Time
	lastRefused         time.Time // when the last request that was refused was sent

	pause   time.Duration // at most so much time was between two refusals, which no queue delays
	refused answer        // the last of them
}

// run asks on all connections until ctx ends.
func (h *hammer) run(ctx context.Context, t *testing.T) {
	var wg sync.WaitGroup
	for range h.connections {
		wg.Go(func() {
			transport := new(http.Transport) // with a connection of its own
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for ctx.Err() == nil {
				a, err := ask(client, h.method, h.url, h.body)
				if !assert.NoError(t, err) {
					return
				}
				h.add(a)
			}
		})
	}
	wg.Wait()
}

// hasAsked waits until that many have asked, or ctx ends.
func (h *hammer) hasAsked(ctx context.Context, n int) bool {
	for {
		h.mu.Lock()
		asked := h.asked
		h.mu.Unlock()
		if asked >= n || ctx.Err() != nil {
			return asked >= n
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (h *hammer) add(a answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked == 0 {
		h.firstSent, h.firstReceived, h.refused = a.sent, a.received, a
	} else if h.earned != nil && h.earned(a.received.Sub(h.firstSent)) >= h.granted {
		h.full = true // it has earned again what it was seen to grant
	}
	h.asked++
	if a.status == http.StatusTooManyRequests {
		h.pause = max(h.pause, a.received.Sub(h.refused.sent))
		h.refused = a
	}
	earlier, later := time.Time.Before, time.Time.After
	keep(&h.firstSent, a.sent, earlier)
	keep(&h.firstReceived, a.received, earlier)
	keep(&h.lastSent, a.sent, later)
	keep(&h.lastReceived, a.received, later)
	switch a.status {
	case http.StatusOK:
		h.granted++
	case http.StatusTooManyRequests:
		keep(&h.lastRefused, a.sent, later)
	}
}

// keep sets at to t if that is better.
func keep(at *time.Time, t time.Time, better func(time.Time, time.Time) bool) {
	if better(t, *at) {
		*at = t
	}
}
