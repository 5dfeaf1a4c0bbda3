package memcachedstore_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/casstore/registertest"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/memcachedstore"
	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
)

func TestNew_Faults(t *testing.T) {
	t.Parallel()
	const want = `weir: memcachedstore.New with a nil Client, must be one
weir: memcachedstore.Options.Timeout is -1ns, must be at least 0`
	for _, client := range []memcachedstore.Client{nil, (*memcache.Client)(nil)} {
		_, err := memcachedstore.New(client, memcachedstore.Options{Timeout: -1})
		assert.EqualError(t, err, want)
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	registertest.Run(t, func(t *testing.T) casstore.Register {
		return memcachedstore.Register(newStore(t, newClient(t, memcachedtest.Shared(t).Addr())))
	})
}

// An Entry has a Version if, and only if, there is an item.
func TestRegisterTells(t *testing.T) {
	t.Parallel()
	r := memcachedstore.Register(newStore(t, newClient(t, memcachedtest.Shared(t).Addr())))
	key := casstore.Key(newName(), "k")
	for range 2 {
		old, err := r.Get(t.Context(), key)
		require.NoError(t, err)
		require.Nil(t, old.Version)
		_, ok, err := r.Swap(t.Context(), key, old, []byte("value"), time.Hour)
		require.NoError(t, err)
		require.True(t, ok)
		held, err := r.Get(t.Context(), key)
		require.NoError(t, err)
		require.NotNil(t, held.Version)
		require.NoError(t, r.Delete(t.Context(), key))
	}
}

func TestExpiration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Unix(1_800_000_000, 1) // in 2027
	for _, c := range []struct {
		keep time.Duration
		want int32
	}{
		{time.Millisecond, 3},
		{time.Second, 3},
		{time.Second + time.Millisecond, 4},
		{30*day - 2*time.Second, 30 * 86400},
		{30*day - 2*time.Second + time.Millisecond, 1_800_000_000 + 31*86400 - 1},
		{31 * day, 1_800_000_000 + 32*86400 + 1},
		{4000 * day, 1_800_000_000 + 4001*86400 + 1},
		{5000 * day, 0}, // 2^31 seconds after the epoch are in 2038
		{weir.Never - weir.Never%time.Millisecond, 0},
		{weir.Never, 0},
	} {
		assert.Equal(t, c.want, memcachedstore.Expiration(c.keep, now), "%v", c.keep)
	}
	last := time.Unix(math.MaxInt32-32*86400-1, 0)
	assert.EqualValues(t, math.MaxInt32, memcachedstore.Expiration(31*day, last))
	assert.Zero(t, memcachedstore.Expiration(31*day, last.Add(time.Second)))
}

// A server takes each form of an expiration as it is meant. It tells how many seconds are left.
func TestExpiration_OnServer(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	server := memcachedtest.Start(t)
	r := memcachedstore.Register(newStore(t, newClient(t, server.Addr())))
	for _, c := range []struct{ keep, most time.Duration }{
		{time.Millisecond, 10 * time.Second},
		{time.Minute, time.Minute + 10*time.Second},
		{30*day - time.Minute, 30 * day},
		{30 * day, 31*day + time.Minute},
		{366 * day, 367*day + time.Minute},
		{weir.Never, weir.Never},
	} {
		before := time.Now()
		_, ok, err := r.Swap(t.Context(), "k", casstore.Entry{}, []byte{1}, c.keep)
		require.NoError(t, err)
		require.True(t, ok)
		left := server.Left(t, "k")
		passed := time.Since(before) + time.Second // it rounds down
		assert.GreaterOrEqual(t, left, c.keep-passed, "%v", c.keep)
		assert.LessOrEqual(t, left, c.most, "%v", c.keep)
		require.NoError(t, r.Delete(t.Context(), "k"))
	}
}

// A value that no store wrote is an error of the requests for its key, and of no others.
func TestCorruptedValues(t *testing.T) {
	t.Parallel()
	client := newClient(t, memcachedtest.Shared(t).Addr())
	name := newName()
	l := newLimiter(t, newStore(t, client), weir.SlidingLog{Limit: 5, Per: time.Hour}, name)
	require.True(t, l.Allow("k"))
	item, err := client.Get(casstore.Key(name, "k"))
	require.NoError(t, err)
	intact := item.Value
	rnd := rand.New(rand.NewPCG(1, 2))
	values := [][]byte{{}, {0}, []byte("1"), intact[:len(intact)-1], append(bytes.Clone(intact), 0), bytes.Repeat([]byte{255}, 1000)}
	for range runs.Long(500, 50) {
		v := make([]byte, rnd.IntN(40))
		for i := range v {
			v[i] = byte(rnd.Uint32())
		}
		values = append(values, v)
	}
	for _, v := range values {
		require.NoError(t, client.Set(&memcache.Item{Key: item.Key, Value: v}))
		r, err := l.Take(t.Context(), "k", 1)
		if len(v) == 0 {
			assert.NoError(t, err, "as no item")
			continue
		}
		assert.ErrorIs(t, err, weir.ErrRequest, "%x", v)
		assert.Equal(t, weir.Result{}, r)
		assert.True(t, l.Allow(fmt.Sprint("another ", rnd.Uint64())))
	}
	require.NoError(t, l.Reset(t.Context(), "k"))
	assert.True(t, l.Allow("k"))
}
