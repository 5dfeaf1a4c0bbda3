package rueidisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

func TestRepliesLost(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	checks.LostReplies(t, newStore(t, newClient(t, at(proxy.Addr())), remote.Config{}), proxy)
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

// A client that gives up earlier than the store tells the same.
func TestTimeoutOfTheClient(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	client := newClient(t, at(server.Addr()), func(o *rueidis.ClientOption) { o.ConnWriteTimeout = 2 * time.Second })
	l := checks.LimiterOn(t, newStore(t, client, remote.Config{}), checks.Spacious)
	checks.Eventually(t, "a decision", func() bool { return l.Allow("k") }) // a slow machine may need several tries
	server.Pause()
	_, err := l.Take(t.Context(), "k", 1)
	require.ErrorIs(t, err, ErrNoReply)
	server.Resume()
}

// A command whose caller is gone when the connection is there is not sent.
func TestGivenUpCommandIsNotSent(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	dial, slow := make(chan struct{}), atomic.Bool{}
	client := newClient(t, at(proxy.Addr()), func(o *rueidis.ClientOption) {
		o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			if slow.Load() {
				<-dial
			}
			return d.DialContext(ctx, "tcp", addr)
		}
	})
	l := checks.LimiterOn(t, newStore(t, client, remote.Config{}), checks.Spacious)
	require.True(t, l.Allow("k"))
	slow.Store(true)
	proxy.Refuse()
	checks.Eventually(t, "the loss of the connection", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := l.Take(ctx, "k", 1)
		return errors.Is(err, context.DeadlineExceeded)
	})
	proxy.Forward()
	close(dial)
	checks.Eventually(t, "a connection", func() bool { return l.Allow("other") })
	assert.Equal(t, 1, checks.Counted(t, l, "k"))
}

// openAsUser makes a store by a client that docs/redis.md tells to make for a user of few
// permissions.
func openAsUser(t *testing.T, addrs []string) weir.Store {
	return newStore(t, newClient(t, at(addrs...), func(o *rueidis.ClientOption) {
		o.Username, o.Password = "weir", "password"
		o.DisableCache = true                 // else it asks for CLIENT TRACKING
		o.ForceSingleClient = len(addrs) == 1 // else it asks whether there is a Cluster
		o.ClientSetInfo = rueidis.DisableClientSetInfo
	}), remote.Config{})
}

func TestDocsPermissions(t *testing.T) {
	t.Parallel()
	checks.Permissions(t, openAsUser, redistest.Nodes{redistest.Single(t)}, checks.UserRules, checks.PingRule)
}
