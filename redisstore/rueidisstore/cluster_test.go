package rueidisstore

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// TestCluster shares one Cluster, for it takes seconds to start. The last fault is the end of it.
func TestCluster(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	nodes := redistest.Cluster(t)

	t.Run("no single server", func(t *testing.T) {
		_, err := New(newClient(t, at(nodes.Addrs()...)), Options{SingleServer: true})
		assert.ErrorContains(t, err, "must be the client of a single server")
	})
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
		checks.LostReplies(t, newStore(t, client, remote.Config{}), proxies...)
	})
	t.Run("many keys", func(t *testing.T) { checks.ManyKeys(t, made, nodes) })
	t.Run("permissions", func(t *testing.T) {
		checks.Permissions(t, openAsUser, nodes, checks.UserRules, checks.PingRule, checks.ClusterRules)
	})
	t.Run("master lost", func(t *testing.T) { checks.LostMaster(t, made, nodes) })
}
