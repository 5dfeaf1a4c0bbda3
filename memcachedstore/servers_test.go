package memcachedstore_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
)

// Each key is on one of several servers. If that is down, its keys have no decisions, and those of
// the others do. Without it in the list, its keys are on another server, with a fresh allowance.
func TestServers(t *testing.T) {
	t.Parallel()
	var all []*memcachedtest.Server
	var addrs []string
	for range 3 {
		all = append(all, memcachedtest.Start(t))
		addrs = append(addrs, all[len(all)-1].Addr())
	}
	var list memcache.ServerList
	require.NoError(t, list.SetServers(addrs...))
	l := newLimiter(t, newStore(t, memcache.NewFromSelector(&list)), once, "n")
	another := newLimiter(t, newStore(t, newClient(t, addrs...)), once, "n")
	const keys = 60
	on := map[string]string{} // the server of a key
	for i := range keys {
		key := fmt.Sprint(i)
		addr, err := list.PickServer(casstore.Key("n", key))
		require.NoError(t, err)
		on[key] = addr.String()
		require.True(t, l.Allow(key))
		assert.False(t, another.Allow(key), "another process shares it")
	}
	for _, server := range all {
		assert.NotEqual(t, "0", server.Stats(t, "stats")["curr_items"])
	}

	down := all[1]
	down.Kill()
	for key, addr := range on {
		r, err := l.Take(t.Context(), key, 0)
		if addr == down.Addr() {
			assert.Error(t, err)
			assert.NotErrorIs(t, err, weir.ErrRequest)
			continue
		}
		require.NoError(t, err)
		assert.Zero(t, r.Remaining)
	}

	require.NoError(t, list.SetServers(addrs[0], addrs[2]))
	fresh := 0
	for key, addr := range on {
		moved, err := list.PickServer(casstore.Key("n", key))
		require.NoError(t, err)
		granted := l.Allow(key)
		assert.Equal(t, addr != moved.String(), granted, "%s was on %s, is on %s", key, addr, moved)
		if granted {
			fresh++
		}
	}
	assert.Greater(t, fresh, keys/3, "also of keys whose server is not down")
}

// memcache.New has no server if a name does not resolve. The error says so.
func TestNoServers(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, newStore(t, memcache.New("127.0.0.1:1", "127.0.0.1:no")), traffic.Spacious, "n")
	_, err := l.Take(t.Context(), "k", 1)
	assert.ErrorContains(t, err, "memcache.New leaves out all if a name does not resolve")
	assert.ErrorIs(t, err, memcache.ErrNoServers)
	assert.NotErrorIs(t, err, weir.ErrRequest)
}

// A wrapped client may have its own prefix for keys. Requests for a key that is then too long must
// not make the server look as if it were down.
func TestWrappedClient(t *testing.T) {
	t.Parallel()
	client := &prefixing{Client: newClient(t, memcachedtest.Shared(t).Addr()), prefix: string(make([]byte, 300))}
	l := newLimiter(t, newStore(t, client), once, newName())
	_, err := l.Take(t.Context(), "k", 1)
	assert.ErrorIs(t, err, weir.ErrRequest)
	assert.ErrorIs(t, err, memcache.ErrMalformedKey)

	client.prefix = "shop:"
	assert.True(t, l.Allow("k"))
	client.fault = errors.New("refused")
	_, err = l.Take(t.Context(), "k", 1)
	assert.ErrorIs(t, err, client.fault)
	assert.EqualValues(t, 3, client.gets.Load())
}

// A prefixing client puts a prefix before each key.
type prefixing struct {
	*memcache.Client
	prefix string
	fault  error
	gets   atomic.Int64
}

func (p *prefixing) Get(key string) (*memcache.Item, error) {
	if p.gets.Add(1); p.fault != nil {
		return nil, p.fault
	}
	return p.Client.Get(p.prefix + key)
}

func (p *prefixing) Add(item *memcache.Item) error {
	item.Key = p.prefix + item.Key
	return p.Client.Add(item)
}
