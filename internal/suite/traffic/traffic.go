// Package traffic has callers that keep asking a store while a test breaks it, and compares what
// the store has counted with the answers that they got. The modules of stores by compare-and-swap
// use it.
package traffic

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/storetest/faultproxy"
)

// Patience is how long to wait for what must happen soon: a machine under load is no fault.
const Patience = time.Minute

// Year is longer than a test.
const Year = 365 * 24 * time.Hour

// Spacious is never used up in a test, and its window doesn't end in one. The store has counted
// Limit - Remaining events.
var Spacious = weir.FixedWindow{Limit: 1_000_000, Per: Year, FromFirst: true}

// Eventually waits until done is true.
func Eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for end := time.Now().Add(Patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("waited %v for %s", Patience, what)
		}
	}
}

// Counted returns how many events the store has counted for the key. It asks until there is an
// answer: connections of the client may be lost without it knowing.
func Counted(tb testing.TB, l *weir.KeyedLimiter, key string) int {
	tb.Helper()
	var r weir.Result
	Eventually(tb, "a look", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		defer cancel()
		var err error
		r, err = l.Take(ctx, key, 0)
		return err == nil
	})
	return r.Limit - r.Remaining
}

// Traffic is callers that keep asking for one event, and their answers by key.
type Traffic struct {
	limiter         *weir.KeyedLimiter
	within          time.Duration // of each call
	granted, failed [4]atomic.Int64
	halt            context.CancelFunc
	callers         sync.WaitGroup
}

// Drive starts callers. Their calls have a deadline. It returns when some were granted.
func Drive(t *testing.T, l *weir.KeyedLimiter, within time.Duration) *Traffic {
	ctx, cancel := context.WithCancel(t.Context())
	tr := &Traffic{limiter: l, within: within, halt: cancel}
	t.Cleanup(tr.Stop)
	pause := runs.Long(time.Millisecond, runs.InCI(time.Millisecond, 5*time.Millisecond)) // for other tests run at the same time
	for i := range 16 {
		tr.callers.Go(func() {
			for ; ctx.Err() == nil; i++ {
				tr.call(t, i%len(tr.granted))
				time.Sleep(pause)
			}
		})
	}
	tr.AwaitServed(t)
	return tr
}

func (tr *Traffic) call(t *testing.T, i int) {
	ctx, cancel := context.WithTimeout(t.Context(), tr.within)
	defer cancel()
	r, err := tr.limiter.Take(ctx, fmt.Sprint(i), 1)
	switch {
	case err != nil:
		tr.failed[i].Add(1)
	case r.Allowed:
		tr.granted[i].Add(1)
	}
}

// Stop ends the callers, and waits for them.
func (tr *Traffic) Stop() {
	tr.halt()
	tr.callers.Wait()
}

func sum(of *[4]atomic.Int64) (n int64) {
	for i := range of {
		n += of[i].Load()
	}
	return n
}

// AwaitServed waits for some grants, all but the first few of which began after now.
func (tr *Traffic) AwaitServed(t *testing.T) {
	before := sum(&tr.granted)
	Eventually(t, "grants", func() bool { return sum(&tr.granted) > before+20 })
}

// AwaitFailed waits for a failure.
func (tr *Traffic) AwaitFailed(t *testing.T) {
	before := sum(&tr.failed)
	Eventually(t, "failures", func() bool { return sum(&tr.failed) > before })
}

// Break cuts all connections and loses replies to the requests that match, several times.
func (tr *Traffic) Break(t *testing.T, proxy *faultproxy.Proxy, match func([]byte) bool) {
	for range runs.Long(10, runs.InCI(3, 1)) {
		proxy.Refuse() // cuts all connections
		tr.AwaitFailed(t)
		proxy.Forward()
		tr.AwaitServed(t)
		had := proxy.Lost()
		proxy.LoseReplies(3, match)
		Eventually(t, "replies to be lost", func() bool { return proxy.Lost() == had+3 })
		tr.AwaitServed(t)
	}
}

// Check stops the traffic. The store has counted the calls that were granted, and of those that
// failed each once at most.
func (tr *Traffic) Check(t *testing.T) {
	tr.CheckAtMost(t)
	for i := range tr.granted {
		n, least := Counted(t, tr.limiter, fmt.Sprint(i)), tr.granted[i].Load()
		if int64(n) < least {
			t.Errorf("key %d: counted %d, want at least the %d granted", i, n, least)
		}
	}
}

// CheckAtMost is Check for a store that forgets what it has counted when it fails.
func (tr *Traffic) CheckAtMost(t *testing.T) {
	tr.Stop()
	for i := range tr.granted {
		n, most := Counted(t, tr.limiter, fmt.Sprint(i)), tr.granted[i].Load()+tr.failed[i].Load()
		if int64(n) > most {
			t.Errorf("key %d: counted %d, want at most the %d granted or failed", i, n, most)
		}
	}
	t.Logf("%d granted, %d failed", sum(&tr.granted), sum(&tr.failed))
}
