package redisstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/redistest"
)

// outages is how often a Fallback reported that the first store has failed, and that it is well again.
type outages struct{ failures, ends atomic.Int64 }

func (o *outages) report(err error) {
	if err == nil {
		o.ends.Add(1)
	} else {
		o.failures.Add(1)
	}
}

// With a store in memory to fall back on, no fault of Redis fails a caller, or keeps it waiting for much
// longer than the budget.
func TestFaults_Fallback(t *testing.T) {
	t.Parallel()
	const (
		budget = 100 * time.Millisecond
		outage = 2500 * time.Millisecond
		bound  = 2 * time.Second // the budget, and what a machine under load adds
	)
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
			"paused",
			func(s *redistest.Server, _ *redistest.Proxy) {
				s.MustDo("CLIENT", "PAUSE", fmt.Sprint(outage.Milliseconds()))
			},
			func(s *redistest.Server, _ *redistest.Proxy) {},
		},
		{
			"all packets lost",
			func(_ *redistest.Server, p *redistest.Proxy) { p.Stall() },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Forward() },
		},
		{
			"connections refused",
			func(_ *redistest.Server, p *redistest.Proxy) { p.Refuse() },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Forward() },
		},
		{
			"late",
			func(_ *redistest.Server, p *redistest.Proxy) { p.Delay(outage) },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Forward() },
		},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Single(t, redistest.AppendOnly)
			proxy := redistest.NewProxy(t, server.Addr())
			var seen outages
			store := weir.Fallback(newStore(t, newClient(t, proxy.Addr())), new(weir.MemStore), weir.FallbackOptions{
				Budget:   budget,
				CoolDown: 200 * time.Millisecond,
				Report:   seen.report,
			})
			tr := drive(t, limiterOn(t, store, spacious), 16, 4, patience)
			tr.awaitShared(t)
			before := tr.degraded.Load()
			ends := seen.ends.Load()
			fault.begin(server, proxy)
			time.Sleep(outage)
			fault.end(server, proxy)
			assert.Greater(t, tr.degraded.Load(), before)
			eventually(t, "the end of the outage to be reported", func() bool { return seen.ends.Load() > ends })
			tr.awaitShared(t)
			tr.halt()
			granted, failed := tr.sum()
			slowest := time.Duration(tr.slowest.Load())
			t.Logf("%d granted, %d of them degraded; %d failures and %d ends were reported; the slowest took %v of a budget of %v",
				granted, tr.degraded.Load(), seen.failures.Load(), seen.ends.Load(), slowest, budget)
			assert.Zero(t, failed, "the last: %v", tr.err())
			assert.NotZero(t, seen.failures.Load())
			assert.Less(t, slowest, bound, "no caller waits the fault out")
		})
	}
}

// awaitShared waits until Redis decides again: for a while no answer is degraded.
func (tr *traffic) awaitShared(t testing.TB) {
	t.Helper()
	eventually(t, "answers of the shared store", func() bool {
		before := tr.degraded.Load()
		tr.awaitServed(t)
		return tr.degraded.Load() == before
	})
}
