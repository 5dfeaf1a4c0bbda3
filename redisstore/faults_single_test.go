package redisstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/redisstore"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// A fault lasts for longer than any caller is to wait, and than a slow machine may stand still: who
// waits it out waits for more than waitedOut.
const faultLasts, waitedOut = 6 * time.Second, 5 * time.Second

func TestFaults_KilledAndRestartedWithAppendOnly(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t, redistest.AppendOnly)
	tr := drive(t, checks.LimiterOn(t, newStore(t, newClient(t, server.Addr())), checks.Spacious), 16, 4, 500*time.Millisecond)
	for range 3 {
		server.Kill()
		tr.awaitFailed(t)
		server.Restart()
		t.Logf("served again %v after the restart", tr.awaitServed(t))
	}
	tr.check(t, false)
}

// Without persistence a restart gives a full allowance again, as docs/redis.md says.
func TestFaults_RestartedWithoutPersistenceForgets(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	l := checks.LimiterOn(t, newStore(t, patientClient(t, server.Addr())), checks.Spacious)
	_, err := l.Take(t.Context(), "k", 7)
	require.NoError(t, err)
	require.Equal(t, 7, checks.Counted(t, l, "k"))
	server.Kill()
	server.Restart()
	assert.Equal(t, 0, checks.Counted(t, l, "k"))
}

func TestFaults_ScriptsFlushed(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	tr := drive(t, checks.LimiterOn(t, newStore(t, patientClient(t, server.Addr())), checks.Spacious), 16, 4, checks.Patience)
	for range 30 {
		server.MustDo("SCRIPT", "FLUSH")
		tr.awaitServed(t)
	}
	tr.check(t, false)
	_, failed := tr.sum()
	assert.Zero(t, failed, "no caller sees it")
}

func TestFaults_ClientsPaused(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	tr := drive(t, checks.LimiterOn(t, newStore(t, newClient(t, server.Addr())), checks.Spacious), 16, 4, 200*time.Millisecond)
	begun := time.Now()
	server.MustDo("CLIENT", "PAUSE", fmt.Sprint(faultLasts.Milliseconds()))
	tr.awaitFailed(t)
	require.Less(t, time.Since(begun), faultLasts, "calls end by their deadline, not by the pause")
	tr.awaitServed(t)
	tr.check(t, false)
	assert.Less(t, time.Duration(tr.slowest.Load()), waitedOut, "no caller waits the pause out")
}

func TestFaults_ServerStopped(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	tr := drive(t, checks.LimiterOn(t, newStore(t, newClient(t, server.Addr())), checks.Spacious), 16, 4, 200*time.Millisecond)
	server.Pause()
	time.Sleep(faultLasts)
	server.Resume()
	tr.awaitServed(t)
	tr.check(t, false)
	_, failed := tr.sum()
	assert.NotZero(t, failed)
	assert.Less(t, time.Duration(tr.slowest.Load()), waitedOut, "no caller waits the fault out")
}

// A call without a deadline ends by the store's own.
func TestFaults_ServerStoppedAndNoDeadline(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	store, err := redisstore.New(newClient(t, server.Addr()), redisstore.Options{})
	require.NoError(t, err)
	l := checks.LimiterOn(t, store, checks.Spacious)
	checks.Eventually(t, "a decision", func() bool { return l.Allow("script") }) // a slow machine may need several tries
	server.Pause()
	_, err = l.Take(t.Context(), "k", 1)
	require.ErrorIs(t, err, redisstore.ErrNoReply)
	require.False(t, l.Allow("k"))
	server.Resume()
	assert.LessOrEqual(t, checks.Counted(t, l, "k"), 2)
}

// The network loses all packets, and more call than the client has connections for. It makes no
// difference whether the client heeds the deadlines of contexts.
func TestFaults_PoolExhausted(t *testing.T) {
	t.Parallel()
	for name, heeds := range map[string]bool{"by default": false, "ContextTimeoutEnabled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
			client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), PoolSize: 2, ContextTimeoutEnabled: heeds})
			t.Cleanup(func() { _ = client.Close() })
			tr := drive(t, checks.LimiterOn(t, newStore(t, client), checks.Spacious), 64, 4, 200*time.Millisecond)
			proxy.Stall()
			time.Sleep(faultLasts)
			proxy.Forward()
			tr.awaitServed(t)
			tr.check(t, false)
			_, failed := tr.sum()
			assert.GreaterOrEqual(t, failed, int64(64), "each caller failed")
			assert.Less(t, time.Duration(tr.slowest.Load()), waitedOut, "no caller waits the fault out")
		})
	}
}

// Calls that nobody waits for any more stay under way while nothing is answered. They are bounded.
func TestFaults_CommandsUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	client := &countingClient{Client: newClient(t, proxy.Addr())}
	const bound = 8
	store, err := redisstore.New(client, redisstore.Options{MaxInFlight: bound})
	require.NoError(t, err)
	tr := drive(t, checks.LimiterOn(t, store, checks.Spacious), 64, 4, 100*time.Millisecond)
	proxy.Stall()
	checks.Eventually(t, "all that may be under way", func() bool { return client.now.Load() == bound })
	_, before := tr.sum()
	checks.Eventually(t, "each caller to fail, and twice", func() bool {
		_, now := tr.sum()
		return now >= before+2*64
	})
	proxy.Forward()
	tr.awaitServed(t)
	tr.check(t, false)
	checks.Eventually(t, "the last command to end", func() bool { return client.now.Load() == 0 })
	assert.Equal(t, int64(bound), client.most.Load())
}

// countingClient counts the commands that are under way.
type countingClient struct {
	redisstore.Client
	now, most atomic.Int64
}

func (c *countingClient) Process(ctx context.Context, cmd redis.Cmder) error {
	now := c.now.Add(1)
	defer c.now.Add(-1)
	for {
		most := c.most.Load()
		if now <= most || c.most.CompareAndSwap(most, now) {
			return c.Client.Process(ctx, cmd)
		}
	}
}
