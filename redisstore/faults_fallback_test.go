package redisstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// outages is how often a Fallback reported that the first store has failed, and that it is well
// again.
type outages struct{ failures, ends atomic.Int64 }

func (o *outages) report(err error) {
	if err == nil {
		o.ends.Add(1)
	} else {
		o.failures.Add(1)
	}
}

// lateness is by how much, at most, goroutines that slept were late to go on, since it was called.
func lateness(t *testing.T) (most *atomic.Int64) {
	most = new(atomic.Int64)
	// A goroutine that was not due to go on yet has seen so much less of a delay.
	pause := runs.Long(time.Millisecond, 5*time.Millisecond)
	for range 4 {
		go func() {
			for t.Context().Err() == nil {
				begun := time.Now()
				time.Sleep(pause)
				for late := int64(time.Since(begun) - pause); ; {
					if m := most.Load(); m >= late || most.CompareAndSwap(m, late) {
						break
					}
				}
			}
		}()
	}
	return most
}

// With a store in memory to fall back on, no fault of Redis fails a caller, or keeps it waiting for
// longer than the budget. That is exactly so where only the store takes time, as a test of Fallback
// itself shows. Here there is a machine, too, whose processors may be busy: from the first timer to
// the caller, four goroutines have to be run one after the other, each of which may be as late as
// others were, and more. No caller waits for the end of the outage.
func TestFaults_Fallback(t *testing.T) {
	t.Parallel()
	const (
		budget = 500 * time.Millisecond
		more   = time.Second
		hops   = 4
	)
	late := lateness(t)                                       // for all faults, which come at once
	outage := runs.Long(4*time.Second, 2500*time.Millisecond) // longer than budget and more
	for _, fault := range []struct {
		name       string
		begin, end func(*redistest.Server, *redistest.Proxy)
	}{
		{
			"killed",
			func(s *redistest.Server, _ *redistest.Proxy) { s.Kill() },
			func(s *redistest.Server, _ *redistest.Proxy) { s.Restart() },
		},
		{
			"stopped",
			func(s *redistest.Server, _ *redistest.Proxy) { s.Pause() },
			func(s *redistest.Server, _ *redistest.Proxy) { s.Resume() },
		},
		{
			"all packets lost",
			func(_ *redistest.Server, p *redistest.Proxy) { p.Stall() },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Forward() },
		},
		{
			"late",
			func(_ *redistest.Server, p *redistest.Proxy) { p.Delay(outage) },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Forward() },
		},
		{
			"paused",
			func(s *redistest.Server, _ *redistest.Proxy) {
				s.MustDo("CLIENT", "PAUSE", fmt.Sprint(outage.Milliseconds()))
			},
			func(s *redistest.Server, _ *redistest.Proxy) {},
		},
		{
			"connections refused",
			func(_ *redistest.Server, p *redistest.Proxy) { p.Refuse() },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Forward() },
		},
	}[:runs.Long(6, 4)] { // the last two are like others
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Single(t, redistest.AppendOnly)
			proxy := redistest.NewProxy(t, server.Addr())
			var seen outages
			store := fleet.Fallback(newStore(t, newClient(t, proxy.Addr())), new(weir.MemStore), fleet.FallbackOptions{
				Budget:   budget,
				CoolDown: 200 * time.Millisecond,
				Report:   seen.report,
			})
			tr := drive(t, checks.LimiterOn(t, store, checks.Spacious), 16, 4, checks.Patience)
			tr.awaitShared(t)
			before := tr.degraded.Load()
			ends := seen.ends.Load()
			fault.begin(server, proxy)
			time.Sleep(outage)
			fault.end(server, proxy)
			assert.Greater(t, tr.degraded.Load(), before)
			checks.Eventually(t, "the end of the outage to be reported", func() bool { return seen.ends.Load() > ends })
			tr.awaitShared(t)
			tr.halt()
			granted, failed := tr.sum()
			slowest := time.Duration(tr.slowest.Load())
			t.Logf("%d granted, %d of them degraded; %d failures and %d ends were reported; the slowest took %v of a budget of %v, with timers up to %v late",
				granted, tr.degraded.Load(), seen.failures.Load(), seen.ends.Load(), slowest, budget, time.Duration(late.Load()))
			assert.Zero(t, failed, "the last: %v", tr.err())
			assert.NotZero(t, seen.failures.Load())
			assert.LessOrEqual(t, slowest, budget+more+hops*time.Duration(late.Load()))
		})
	}
}

// awaitShared waits until Redis decides again: for a while no answer is degraded.
func (tr *traffic) awaitShared(t testing.TB) {
	t.Helper()
	checks.Eventually(t, "answers of the shared store", func() bool {
		before := tr.degraded.Load()
		tr.awaitServed(t)
		return tr.degraded.Load() == before
	})
}
