// Package checks holds what the stores of this module and of modules for other clients must all
// pass. Only their tests import it. It knows a store as a [weir.Store], and nothing of its client:
// it is the same for all clients. It has no tests of its own. The stores' tests run it on real
// servers.
package checks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// A Maker makes a store with a client of its own for the servers at the addresses: one server, or
// nodes of a Cluster. The client has its default options, but waits for replies as long as
// [Patience]. The store leaves it to contexts to end a call, unless c has a Timeout: a machine
// under load is no fault.
type Maker func(tb testing.TB, addrs []string, c remote.Config) weir.Store

// on makes a store for one server, or for what stands before it.
func (m Maker) on(tb testing.TB, addr string, c remote.Config) weir.Store {
	return m(tb, []string{addr}, c)
}

// Patience is how long to wait for what must happen soon. Where a fault would take longer to be
// noticed than this, it is not handled.
const Patience = time.Minute

// Eventually waits until done.
func Eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for end := time.Now().Add(Patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("waited %v for %s", Patience, what)
		}
	}
}

const year = 365 * 24 * time.Hour // an event's share of it is more than a test's time

// Spacious is never used up in a test, and its window doesn't end in one. Redis has therefore
// counted Limit - Remaining events, even if the callers were told something else.
var Spacious = weir.FixedWindow{Limit: 1_000_000, Per: year, FromFirst: true}

// unscripted is a policy for which there is no script.
type unscripted struct{ weir.FixedWindow }

// each is a policy of each script, and one of none, that grants limit events at once.
func each(limit int) map[string]weir.Policy {
	return map[string]weir.Policy{
		"TokenBucket":   weir.TokenBucket{Limit: limit, Per: year},
		"FixedWindow":   weir.FixedWindow{Limit: limit, Per: year, FromFirst: true},
		"SlidingWindow": weir.SlidingWindow{Limit: limit, Per: year},
		"SlidingLog":    weir.SlidingLog{Limit: limit, Per: year},
		"none":          unscripted{weir.FixedWindow{Limit: limit, Per: year, FromFirst: true}},
	}
}

// LimiterOn is a limiter that has its state in store. Each test has a name of its own.
func LimiterOn(tb testing.TB, store weir.Store, p weir.Policy) *weir.KeyedLimiter {
	return weir.Must(weir.New(p, weir.WithStore(store), weir.WithName(tb.Name())))
}

// Counted is how many events Redis has counted for the key. It asks again until there is an answer:
// a client has several connections, and may not have noticed yet that one is lost.
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

// ForgottenScripts checks that a script which the server does not know is sent in full, and no
// caller sees it.
func ForgottenScripts(t *testing.T, m Maker) {
	server := redistest.Single(t)
	l := LimiterOn(t, m.on(t, server.Addr(), remote.Config{}), Spacious)
	for i := range 3 {
		server.MustDo("SCRIPT", "FLUSH")
		must(t, l.Allow("k"), "denied")
		equal(t, i+1, Counted(t, l, "k"), "counted")
	}
}

// Allocations checks how often a decision on a key that is known allocates.
func Allocations(t *testing.T, m Maker, most float64) {
	store := m.on(t, redistest.Single(t).Addr(), remote.Config{})
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 100, Per: time.Hour},
		weir.LeakyBucket{Limit: 100, Per: time.Hour},
		weir.FixedWindow{Limit: 100, Per: time.Hour},
		weir.SlidingWindow{Limit: 100, Per: time.Hour},
		weir.SlidingWindow{Limit: 100, Per: time.Hour, Buckets: 6},
		weir.SlidingLog{Limit: 100, Per: time.Hour},
	} {
		l, key := LimiterOn(t, store, p), fmt.Sprintf("%T%+v", p, p)
		ctx, cancel := context.WithTimeout(t.Context(), Patience)
		defer cancel()
		allocs := allocsPerRun(func() {
			_, err := l.Take(ctx, key, 1)
			noError(t, err)
		})
		atMost(t, most, allocs, "Take: %s", key)
		allocs = allocsPerRun(func() { l.Allow(key) })
		atMost(t, most, allocs, "Allow: %s", key)
	}
}

// allocsPerRun is how often f allocates, without the allocations of a client that is new.
func allocsPerRun(f func()) float64 {
	n := runs.Long(500, 100)
	return min(testing.AllocsPerRun(n, f), testing.AllocsPerRun(n, f), testing.AllocsPerRun(n, f))
}
