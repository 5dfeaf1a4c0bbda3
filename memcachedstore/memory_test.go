package memcachedstore_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/memcachedstore"
	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
)

// once grants one event, and then no other in a test.
var once = weir.FixedWindow{Limit: 1, Per: traffic.Year, FromFirst: true}

// fill writes items like that of a key, until done says so or the server takes no more. It writes a
// hundred at once, which the client cannot: one by one, ten thousand would take a second.
func fill(t *testing.T, server *memcachedtest.Server, client *memcache.Client, key string, done func() bool) error {
	t.Helper()
	item, err := client.Get(key)
	require.NoError(t, err)
	conn, err := net.Dial("tcp4", server.Addr())
	require.NoError(t, err)
	defer conn.Close()
	replies := bufio.NewScanner(conn)
	for n := 0; n < 1_000_000; {
		var requests []byte
		const batch = 100
		for range batch {
			requests = fmt.Appendf(requests, "set %s%d 0 0 %d\r\n%s\r\n", key, n, len(item.Value), item.Value)
			n++
		}
		_, err := conn.Write(requests)
		require.NoError(t, err)
		for range batch {
			require.True(t, replies.Scan(), "%v", replies.Err())
			if reply := replies.Text(); reply != "STORED" {
				err = errors.New(reply)
			}
		}
		if err != nil || done() {
			return err
		}
	}
	t.Fatal("the server is never full")
	return nil
}

// A server whose memory is full forgets the keys that were not asked for the longest. Those have a
// fresh allowance then. A key that is asked for all the time stays.
func TestMemory_Evictions(t *testing.T) {
	t.Parallel()
	server := memcachedtest.Start(t, "-m", "2")
	client := newClient(t, server.Addr())
	l := newLimiter(t, newStore(t, client), once, "n")
	require.True(t, l.Allow("busy"))
	require.True(t, l.Allow("k"))
	err := fill(t, server, client, casstore.Key("n", "k"), func() bool {
		require.False(t, l.Allow("busy"))
		return server.Stats(t, "stats")["evictions"] != "0"
	})
	require.NoError(t, err)
	assert.True(t, l.Allow("k"))
}

// With the flag -M, a full server takes no new items, and forgets none. An item that replaces
// another is a new one.
func TestMemory_NoEvictions(t *testing.T) {
	t.Parallel()
	server := memcachedtest.Start(t, "-m", "2", "-M")
	client := newClient(t, server.Addr())
	store := newStore(t, client)
	l := newLimiter(t, store, once, "n")
	require.True(t, l.Allow("k"))
	err := fill(t, server, client, casstore.Key("n", "k"), func() bool { return false })
	require.ErrorContains(t, err, "out of memory")

	r, err := l.Take(t.Context(), "k", 1)
	require.NoError(t, err)
	assert.False(t, r.Allowed)
	larger := newLimiter(t, store, weir.FixedWindow{Limit: 2, Per: traffic.Year, FromFirst: true}, "n")
	assert.Equal(t, 1, traffic.Counted(t, larger, "k"))
	for l, key := range map[*weir.KeyedLimiter]string{l: "new", larger: "k"} {
		_, err = l.Take(t.Context(), key, 1)
		assert.ErrorContains(t, err, "memcachedstore: cannot replace an item: ")
		assert.ErrorContains(t, err, "out of memory")
		assert.NotErrorIs(t, err, weir.ErrRequest)
	}
	assert.NoError(t, l.Reset(t.Context(), "k"))
}

// An item that is too large for the server is an error of the request, and the old one stays.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	store := newStore(t, newClient(t, memcachedtest.Start(t).Addr()))
	register, large := memcachedstore.Register(store), make([]byte, 1<<20)
	for _, old := range [][]byte{nil, {1}} {
		if old != nil {
			_, ok, err := register.Swap(t.Context(), "k", casstore.Entry{}, old, time.Hour)
			require.NoError(t, err)
			require.True(t, ok)
		}
		e, err := register.Get(t.Context(), "k")
		require.NoError(t, err)
		_, _, err = register.Swap(t.Context(), "k", e, large, time.Hour)
		require.ErrorIs(t, err, weir.ErrRequest)
		require.ErrorContains(t, err, "object too large")
		e, err = register.Get(t.Context(), "k")
		require.NoError(t, err)
		assert.Equal(t, old, e.Value)
	}
	largest := weir.SlidingWindow{Limit: 1, Per: time.Hour, Buckets: 100_000}
	assert.True(t, newLimiter(t, store, largest, "n").Allow("k"), "every new state has room")
}

// A server whose items have no CAS numbers would take every Swap.
func TestWithoutCAS(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, newStore(t, newClient(t, memcachedtest.Start(t, "-C").Addr())), traffic.Spacious, "n")
	require.True(t, l.Allow("k"), "there is nothing to compare with")
	r, err := l.Take(t.Context(), "k", 1)
	assert.ErrorContains(t, err, "the server has no CAS numbers, must run without the flag -C")
	assert.Equal(t, weir.Result{}, r)
}

// docs/stores.md tells how much memory a key takes.
func TestDocsMemory(t *testing.T) {
	t.Parallel()
	server := memcachedtest.Start(t)
	client := newClient(t, server.Addr())
	table := "| policy | value, bytes | in memcached, bytes |\n|---|---|---|\n"
	for _, c := range []struct {
		name   string
		policy weir.Policy
		events int
	}{
		{"`TokenBucket`", weir.TokenBucket{Limit: 100, Per: time.Minute}, 1},
		{"`FixedWindow`", weir.FixedWindow{Limit: 100, Per: time.Minute}, 1},
		{"`SlidingWindow`", weir.SlidingWindow{Limit: 100, Per: time.Minute}, 1},
		{"`SlidingLog`, 5 events", weir.SlidingLog{Limit: 5, Per: time.Minute}, 5},
		{"`SlidingLog`, 100 events", weir.SlidingLog{Limit: 100, Per: traffic.Year}, 100},
	} {
		l := newLimiter(t, newStore(t, client), c.policy, "api")
		for range c.events {
			require.True(t, l.Allow("203.0.113.7"))
		}
		item, err := client.Get(casstore.Key("api", "203.0.113.7"))
		require.NoError(t, err)
		table += fmt.Sprintf("| %s | %d | %s |\n", c.name, len(item.Value), chunk(t, server))
		require.NoError(t, l.Reset(t.Context(), "203.0.113.7"))
	}
	docs, err := os.ReadFile("../docs/stores.md")
	require.NoError(t, err)
	assert.Contains(t, string(docs), table)
}

// chunk returns how many bytes the only item of a server takes up.
func chunk(t *testing.T, server *memcachedtest.Server) string {
	t.Helper()
	for name, value := range server.Stats(t, "stats items") {
		if words := strings.Split(name, ":"); words[2] == "number" && value == "1" {
			return server.Stats(t, "stats slabs")[words[1]+":chunk_size"]
		}
	}
	t.Fatal("no item")
	return ""
}
