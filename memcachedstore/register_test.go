package memcachedstore_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
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

func TestNew_Faults(t *testing.T) {
	t.Parallel()
	const want = `weir: memcachedstore.New with a nil Client, must be one
weir: memcachedstore.Options.Timeout is -1ns, must be at least 0`
	for _, client := range []memcachedstore.Client{nil, (*memcache.Client)(nil)} {
		_, err := memcachedstore.New(client, memcachedstore.Options{Timeout: -1})
		assert.EqualError(t, err, want)
	}
}

// A Swap replaces a value if, and only if, the key has been neither swapped nor deleted since the
// old Entry was read.
func TestRegisterByModel(t *testing.T) {
	t.Parallel()
	r := memcachedstore.Register(newStore(t, newClient(t, memcachedtest.Shared(t).Addr())))
	type entry struct {
		casstore.Entry
		change int // of the key when it was read
	}
	var changes [2]int
	var values [2][]byte
	var known [2][]entry
	swapped, lost := 0, 0
	rnd := rand.New(rand.NewPCG(1, 2))
	name := newName()
	for range runs.Long(5000, 500) {
		i := rnd.IntN(2)
		key := casstore.Key(name, fmt.Sprint("key ", i))
		switch n := rnd.IntN(10); {
		case n == 0:
			require.NoError(t, r.Delete(t.Context(), key))
			if values[i] != nil {
				values[i] = nil
				changes[i]++
			}
		case n < 5 || len(known[i]) == 0:
			e, err := r.Get(t.Context(), key)
			require.NoError(t, err)
			require.True(t, bytes.Equal(values[i], e.Value))
			require.Equal(t, values[i] == nil, e.Version == nil)
			known[i] = append(known[i], entry{e, changes[i]})
		default:
			old := known[i][max(len(known[i])-1-rnd.IntN(3), 0)]
			value := make([]byte, 1+rnd.IntN(100))
			_, ok, err := r.Swap(t.Context(), key, old.Entry, value, time.Hour)
			require.NoError(t, err)
			// A key without an item is the same, however often it had one meanwhile.
			require.Equal(t, old.change == changes[i] || old.Version == nil && values[i] == nil, ok)
			if ok {
				swapped++
				values[i] = value
				changes[i]++
			} else {
				lost++
			}
		}
	}
	assert.Greater(t, swapped, 20)
	assert.Greater(t, lost, 20)
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

// Any key does, however long it is and whatever bytes it has.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := newStore(t, newClient(t, memcachedtest.Shared(t).Addr()))
	l := newLimiter(t, s, weir.FixedWindow{Limit: 1, Per: traffic.Year, FromFirst: true}, newName()+strings.Repeat("\r\n", 100))
	keys := []string{"", " ", "a b", "k\r\nflush_all\r\n", strings.Repeat("k", 250), strings.Repeat("k", 251)}
	for i := range 256 {
		keys = append(keys, string([]byte{'b', byte(i)}))
	}
	for range 2 {
		for _, key := range keys {
			r, err := l.Take(t.Context(), key, 1)
			require.NoError(t, err, "%q", key)
			require.True(t, r.Allowed, "%q", key)
		}
		for _, key := range keys {
			require.False(t, l.Allow(key), "%q", key)
			require.NoError(t, l.Reset(t.Context(), key))
		}
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
