package rueidisstore

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/redistest"
)

// TestCluster shares one Cluster, for it takes seconds to start. The last fault is the end of it.
func TestCluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.Cluster(t)

	t.Run("replies lost", func(t *testing.T) {
		var proxies []*redistest.Proxy
		for _, addr := range nodes.Addrs() {
			proxies = append(proxies, redistest.NewProxy(t, addr))
		}
		dial := redistest.DialThrough(proxies...)
		client := newClient(t, at(nodes.Addrs()...), func(o *rueidis.ClientOption) {
			o.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return dial(ctx, "tcp", addr)
			}
		})
		checkLostReplies(t, client, proxies)
	})

	t.Run("many keys", func(t *testing.T) {
		const limit, keys = 3, 300
		l := limiterOn(t, newStore(t, newClient(t, at(nodes.Addrs()...))), weir.TokenBucket{Limit: limit, Per: 365 * 24 * time.Hour})
		var granted [keys]atomic.Int64
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for i := range keys {
					r, err := l.Take(t.Context(), fmt.Sprintf("{key} %d", i), 1)
					assert.NoError(t, err)
					if r.Allowed {
						granted[i].Add(1)
					}
				}
			})
		}
		callers.Wait()
		for i := range granted {
			assert.EqualValues(t, limit, granted[i].Load())
		}
	})

	t.Run("master lost", func(t *testing.T) {
		l := limiterOn(t, newStore(t, newClient(t, at(nodes.Addrs()...))), spacious)
		key := func(i int) string { return fmt.Sprint("key ", i) }
		const keys = 30 // some of them on each master
		for i := range keys {
			require.True(t, l.Allow(key(i)))
		}
		lost := nodes.Masters()[0]
		lost.Kill()
		nodes.AwaitPromoted(t)
		promoted := time.Now()
		for i := range keys {
			eventually(t, "a decision on each key", func() bool { return l.Allow(key(i)) })
		}
		t.Logf("served again %v after the promotion", time.Since(promoted))
	})
}
