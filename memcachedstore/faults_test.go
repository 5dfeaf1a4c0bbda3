package memcachedstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/memcachedstore"
	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
)

// A Swap was executed and its reply is lost. It is not sent again, however many replies would be
// lost.
func TestFaults_RepliesLost(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t, memcachedtest.Shared(t).Addr())
	l := newLimiter(t, newStore(t, newClient(t, proxy.Addr())), traffic.Spacious, newName())
	for i, losses := range []int{1, 3, 10} {
		key := fmt.Sprint("k", i)
		for n, want := range []int{1, 10} { // an Add, and a CompareAndSwap
			had := proxy.Lost()
			proxy.LoseReplies(losses, isSwap)
			r, err := l.Take(t.Context(), key, want)
			proxy.LoseReplies(0, nil)
			require.ErrorContains(t, err, "memcachedstore: cannot replace an item: ")
			assert.Equal(t, weir.Result{}, r, "denied")
			assert.Equal(t, 1, proxy.Lost()-had, "sent once")
			assert.Equal(t, []int{1, 11}[n], traffic.Counted(t, l, key), "counted once")
		}
	}
}

// While nothing answers, callers leave by their deadlines, and without one by the timeout.
func TestFaults_Hang(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t, memcachedtest.Shared(t).Addr())
	client := newClient(t, proxy.Addr())
	patient, name := newStore(t, client), newName()
	impatient, err := memcachedstore.New(client, memcachedstore.Options{Timeout: 200 * time.Millisecond})
	require.NoError(t, err)
	l, short := newLimiter(t, patient, traffic.Spacious, name), newLimiter(t, impatient, traffic.Spacious, name)
	require.Zero(t, traffic.Counted(t, l, "k"))
	proxy.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = l.Take(ctx, "k", 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = short.Take(t.Context(), "k", 1)
	require.ErrorIs(t, err, casstore.ErrNoReply)
	proxy.Forward()
	assert.LessOrEqual(t, traffic.Counted(t, l, "k"), 2)
}

// When a reply does not come within its timeout, a client gives the connection up. The reply is
// never that of another request.
func TestFaults_LateReplies(t *testing.T) {
	t.Parallel()
	server := memcachedtest.Shared(t)
	proxy := newProxy(t, server.Addr())
	const keys, callers = 8, 8
	name := newName()
	key := func(i int) string { return casstore.Key(name, fmt.Sprint(i%keys)) }
	direct := newClient(t, server.Addr())
	for i := range keys {
		require.NoError(t, direct.Set(&memcache.Item{Key: key(i), Value: []byte(key(i))}))
	}
	client := newClient(t, proxy.Addr())
	r := memcachedstore.Register(newStore(t, client))
	getAll := func() (late int64) {
		var n atomic.Int64
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				for i := range keys {
					e, err := r.Get(t.Context(), key(caller+i))
					if err != nil {
						n.Add(1)
						continue
					}
					assert.Equal(t, key(caller+i), string(e.Value))
				}
			})
		}
		all.Wait()
		return n.Load()
	}
	for range runs.Long(20, runs.InCI(5, 2)) {
		require.Zero(t, getAll())
		client.Timeout = 20 * time.Millisecond
		proxy.Delay(client.Timeout + 10*time.Millisecond)
		require.Positive(t, getAll())
		client.Timeout = traffic.Patience
		proxy.Forward()
	}
	require.Zero(t, getAll())
}

func TestFaults_InTraffic(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t, memcachedtest.Shared(t).Addr())
	tr := traffic.Drive(t, newLimiter(t, newStore(t, newClient(t, proxy.Addr())), traffic.Spacious, newName()), traffic.Patience)
	tr.Break(t, proxy, isSwap)
	tr.Check(t)
}

// A server that is restarted has forgotten all counts, and decisions go on.
func TestFaults_KilledAndRestarted(t *testing.T) {
	t.Parallel()
	server := memcachedtest.Start(t)
	store := newStore(t, newClient(t, server.Addr()))
	tr, l := traffic.Drive(t, newLimiter(t, store, traffic.Spacious, newName()), traffic.Patience), newLimiter(t, store, once, newName())
	for range runs.Long(5, 1) {
		require.Zero(t, traffic.Counted(t, l, "k"))
		require.True(t, l.Allow("k"))
		require.Equal(t, 1, traffic.Counted(t, l, "k"))
		server.Kill()
		tr.AwaitFailed(t)
		server.Restart(t)
		tr.AwaitServed(t)
	}
	tr.CheckAtMost(t)
	assert.Zero(t, traffic.Counted(t, l, "k"), "a fresh allowance")
}
