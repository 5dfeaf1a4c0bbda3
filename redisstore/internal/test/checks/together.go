package checks

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// GrantTogether checks that processes with these stores, which have the same servers, share their
// limits.
func GrantTogether(t *testing.T, stores ...weir.Store) {
	const limit = 100
	for name, p := range each(limit) {
		t.Run(name, func(t *testing.T) {
			var granted atomic.Int64
			var callers sync.WaitGroup
			for _, store := range stores {
				l := LimiterOn(t, store, p)
				for range 8 {
					callers.Go(func() {
						for range 30 {
							r, err := l.Take(t.Context(), "k", 1)
							check(t, err == nil, "%v", err)
							if r.Allowed {
								granted.Add(1)
							}
						}
					})
				}
			}
			callers.Wait()
			equal(t, limit, granted.Load(), "granted")
		})
	}
}

// ManyKeys checks that each of many keys, on all nodes of a Cluster, is granted its limit.
func ManyKeys(t *testing.T, m Maker, nodes redistest.Nodes) {
	const limit, keys = 3, 300
	l := LimiterOn(t, m(t, nodes.Addrs(), remote.Config{}), weir.TokenBucket{Limit: limit, Per: year})
	var granted [keys]atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for i := range keys {
				r, err := l.Take(t.Context(), fmt.Sprintf("{key} %d", i), 1)
				check(t, err == nil, "%v", err)
				if r.Allowed {
					granted[i].Add(1)
				}
			}
		})
	}
	callers.Wait()
	for i := range granted {
		equal(t, limit, granted[i].Load(), "granted of key %d", i)
	}
}

// LostMaster kills a master, and checks that its keys are decided on again when a replica was
// promoted. The Cluster cannot be used for other tests after that.
func LostMaster(t *testing.T, m Maker, nodes redistest.Nodes) {
	l := LimiterOn(t, m(t, nodes.Addrs(), remote.Config{Timeout: time.Second}), Spacious)
	const keys = 30 // some of them on each master
	for i := range keys {
		Eventually(t, "a grant", func() bool { return l.Allow(fmt.Sprint("key ", i)) })
	}
	lost := nodes.Masters()[0]
	lost.Kill()
	nodes.AwaitPromoted(t)
	promoted := time.Now()
	for i := range keys {
		Eventually(t, "a decision on each key", func() bool { return l.Allow(fmt.Sprint("key ", i)) })
	}
	t.Logf("served again %v after the promotion", time.Since(promoted))
}
