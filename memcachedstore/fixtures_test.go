package memcachedstore_test

import (
	"bytes"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/memcachedstore"
	"github.com/weir-go/weir/storetest/faultproxy"
)

// patience is how long to wait for what must happen soon: a machine under load is no fault.
const patience = time.Minute

const year = 365 * 24 * time.Hour

// spacious is never used up in a test, and its window doesn't end in one. The server has counted
// Limit - Remaining events.
var spacious = weir.FixedWindow{Limit: 1_000_000, Per: year, FromFirst: true}

// newClient returns a client of servers.
func newClient(tb testing.TB, addrs ...string) *memcache.Client {
	tb.Helper()
	var servers memcache.ServerList
	require.NoError(tb, servers.SetServers(addrs...))
	client := memcache.NewFromSelector(&servers)
	client.Timeout, client.MaxIdleConns = patience, 100
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

func newStore(tb testing.TB, client memcachedstore.Client) *memcachedstore.Store {
	tb.Helper()
	s, err := memcachedstore.New(client, memcachedstore.Options{Timeout: patience})
	require.NoError(tb, err)
	return s
}

var names atomic.Int64

// newName returns a name that no other test has.
func newName() string { return fmt.Sprint("test ", names.Add(1)) }

func newLimiter(tb testing.TB, s weir.Store, p weir.Policy, name string) *weir.KeyedLimiter {
	tb.Helper()
	l, err := weir.New(p, weir.WithStore(s), weir.WithName(name))
	require.NoError(tb, err)
	return l
}

// counted returns how many events the server has counted for the key. It asks until there is an
// answer: connections of the client may be lost without it knowing.
func counted(tb testing.TB, l *weir.KeyedLimiter, key string) int {
	tb.Helper()
	var r weir.Result
	eventually(tb, "a look", func() bool {
		var err error
		r, err = l.Take(tb.Context(), key, 0)
		return err == nil
	})
	return r.Limit - r.Remaining
}

func eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// newProxy returns a proxy that knows where a request ends.
func newProxy(tb testing.TB, addr string) *faultproxy.Proxy {
	tb.Helper()
	return faultproxy.New(tb, addr, requests)
}

// requests is a bufio.SplitFunc. A request is a line, and of some commands as many bytes more as
// the fifth word of the line says.
func requests(data []byte, _ bool) (advance int, request []byte, err error) {
	line, _, ok := bytes.Cut(data, []byte("\r\n"))
	if !ok {
		return 0, nil, nil
	}
	size := len(line) + 2
	if isSwap(line) {
		words := bytes.Fields(line)
		n, err := strconv.Atoi(string(words[4]))
		if err != nil {
			return 0, nil, err
		}
		size += n + 2
	}
	if size > len(data) {
		return 0, nil, nil
	}
	return size, data[:size], nil
}

// isSwap reports whether a request executes a Swap.
func isSwap(request []byte) bool {
	return bytes.HasPrefix(request, []byte("cas ")) || bytes.HasPrefix(request, []byte("add "))
}
