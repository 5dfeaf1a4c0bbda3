package memcachedstore_test

import (
	"bytes"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/memcachedstore"
	"github.com/weir-go/weir/storetest/faultproxy"
)

// newClient returns a client of servers.
func newClient(tb testing.TB, addrs ...string) *memcache.Client {
	tb.Helper()
	var servers memcache.ServerList
	require.NoError(tb, servers.SetServers(addrs...))
	client := memcache.NewFromSelector(&servers)
	client.Timeout, client.MaxIdleConns = traffic.Patience, 100
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

func newStore(tb testing.TB, client memcachedstore.Client) *memcachedstore.Store {
	tb.Helper()
	s, err := memcachedstore.New(client, memcachedstore.Options{Timeout: traffic.Patience})
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
