package valkeystore

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

func newStore(tb testing.TB, options valkey.ClientOption, c remote.Config) *Store {
	tb.Helper()
	client, err := valkey.NewClient(options)
	require.NoError(tb, err)
	tb.Cleanup(client.Close)
	c.Timeout = cmp.Or(c.Timeout, checks.Patience)
	s, err := open(client, c)
	require.NoError(tb, err)
	return s
}

func made(tb testing.TB, addrs []string, c remote.Config) weir.Store {
	return newStore(tb, valkey.ClientOption{InitAddress: addrs}, c)
}

func TestStore(t *testing.T) {
	t.Parallel()
	checks.StoreOfAnotherClient(t, made)
}

func TestStoreInRealTime(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	checks.InRealTime(t, made)
}

func TestSingleServer(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	checks.SingleServer(t, made)
}

// Processes with either client share their limits.
func TestP14_BothClientsGrantTheLimitTogether(t *testing.T) {
	addr := redistest.Single(t).Addr()
	goRedis := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: checks.Patience})
	t.Cleanup(func() { goRedis.Close() })
	other, err := redisstore.New(goRedis, redisstore.Options{Timeout: checks.Patience})
	require.NoError(t, err)
	checks.GrantTogether(t, made(t, []string{addr}, remote.Config{}), other)
}

func TestForgottenScriptIsSentAgain(t *testing.T) { checks.ForgottenScripts(t, made) }

// They are the key and the reply.
func TestCallsAllocateTwice(t *testing.T) {
	if runs.Race {
		t.Skip("the race detector allocates")
	}
	checks.Allocations(t, made, 2)
}

func TestRepliesLost(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	checks.LostReplies(t, newStore(t, valkey.ClientOption{InitAddress: []string{proxy.Addr()}}, remote.Config{}), proxy)
}

func TestRepliesLostOfAnUnknownScript(t *testing.T) {
	t.Parallel()
	checks.LostRepliesOfAnUnknownScript(t, made)
}

func TestFaultsInTraffic(t *testing.T) {
	t.Parallel()
	checks.FaultsInTraffic(t, made)
}

func TestP22_StallHoldsNobody(t *testing.T) {
	t.Parallel()
	checks.StallHoldsNobody(t, made)
}

// openAsUser makes a store by a client that docs/redis.md tells to make for a user of few
// permissions.
func openAsUser(t *testing.T, addrs []string) weir.Store {
	return newStore(t, valkey.ClientOption{
		InitAddress: addrs, Username: "weir", Password: "password",
		DisableCache:      true,            // else it asks for CLIENT TRACKING
		ForceSingleClient: len(addrs) == 1, // else it asks whether there is a Cluster
		ClientSetInfo:     valkey.DisableClientSetInfo,
	}, remote.Config{})
}

func TestDocsPermissions(t *testing.T) {
	t.Parallel()
	checks.Permissions(t, openAsUser, redistest.Nodes{redistest.Single(t)}, checks.UserRules, checks.PingRule)
}

// TestCluster shares one Cluster, for it takes seconds to start. The last fault is the end of it.
func TestCluster(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	nodes := redistest.Cluster(t)

	t.Run("replies lost", func(t *testing.T) {
		var proxies []*redistest.Proxy
		for _, addr := range nodes.Addrs() {
			proxies = append(proxies, redistest.NewProxy(t, addr))
		}
		dial := redistest.DialThrough(proxies...)
		store := newStore(t, valkey.ClientOption{
			InitAddress: nodes.Addrs(),
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return dial(ctx, "tcp", addr)
			},
		}, remote.Config{})
		checks.LostReplies(t, store, proxies...)
	})
	t.Run("many keys", func(t *testing.T) { checks.ManyKeys(t, made, nodes) })
	t.Run("permissions", func(t *testing.T) {
		checks.Permissions(t, openAsUser, nodes, checks.UserRules, checks.PingRule, checks.ClusterRules)
	})
	t.Run("master lost", func(t *testing.T) { checks.LostMaster(t, made, nodes) })
}

func TestFaultsOfNew(t *testing.T) {
	_, err := New(nil, Options{Timeout: -1})
	for _, want := range []string{
		"weir: valkeystore.New without a client", "weir: valkeystore.Options.Timeout is -1ns, must be at least 0",
	} {
		assert.ErrorContains(t, err, want)
	}
}
