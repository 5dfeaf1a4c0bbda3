package pgstore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/casstore/registertest"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/pgstore"
	"github.com/weir-go/weir/pgstore/internal/test/pgtest"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	_, pool, o := newShared(t)
	server := pgtest.Shared(t)
	another := newPool(t, server.URL(server.Addr()))
	n := 0
	registertest.Run(t, func(t *testing.T) casstore.Register {
		n++
		return pgstore.Register(newStore(t, []pgstore.DB{pool, another}[n%2], o))
	})
}

// The server tells its time, and what the key holds if a Swap has lost to another.
func TestRegisterTells(t *testing.T) {
	t.Parallel()
	s, _, _ := newShared(t)
	r := pgstore.Register(s)
	old, err := r.Get(t.Context(), "k")
	require.NoError(t, err)
	require.False(t, old.Now.IsZero())
	_, ok, err := r.Swap(t.Context(), "k", old, []byte("first"), time.Hour)
	require.NoError(t, err)
	require.True(t, ok)
	for range 2 {
		now, ok, err := r.Swap(t.Context(), "k", old, []byte("lost"), time.Hour)
		require.NoError(t, err)
		require.False(t, ok)
		require.Equal(t, "first", string(now.Value), "it tells what the key holds")
		require.False(t, now.Now.IsZero())
		old.Version = int64(1) // of a row, which there never was
	}
}

// A row is kept for as long as Swap was told, and at most a minute longer.
func TestExpires(t *testing.T) {
	t.Parallel()
	s, pool, o := newShared(t)
	r := pgstore.Register(s)
	for _, keep := range []time.Duration{time.Millisecond, time.Minute, 25 * time.Hour, weir.Never - weir.Never%time.Millisecond} {
		for i := range 2 { // an insert and an update
			e, err := r.Get(t.Context(), keep.String())
			require.NoError(t, err)
			require.Equal(t, i == 0, e.Version == nil)
			_, ok, err := r.Swap(t.Context(), keep.String(), e, []byte{1}, keep)
			require.NoError(t, err)
			require.True(t, ok)
			later, err := r.Get(t.Context(), keep.String())
			require.NoError(t, err)
			var expires time.Time
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT expires FROM "+o.Table.Sanitize()+" WHERE key = $1",
				keep.String()).Scan(&expires))
			assert.False(t, expires.Before(e.Now.Add(keep)), "%v: %v, at %v", keep, expires, e.Now)
			assert.False(t, expires.After(later.Now.Add(keep).Add(time.Minute)), "%v: %v, at %v", keep, expires, later.Now)
		}
	}
	_, ok, err := r.Swap(t.Context(), "never", casstore.Entry{}, []byte{1}, weir.Never)
	require.NoError(t, err)
	require.True(t, ok)
	assert.EqualValues(t, 1, exec(t, pool, "SELECT FROM "+o.Table.Sanitize()+" WHERE key = 'never' AND expires IS NULL"))
}

// Updates change no index, so that they leave nothing behind that only VACUUM removes.
func TestUpdatesAreHeapOnly(t *testing.T) {
	t.Parallel()
	_, pool, o := newShared(t)
	const updates = 30
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { // whose statistics are up to date
		l := newLimiter(t, newStore(t, tx, o), weir.TokenBucket{Limit: 100, Per: time.Second})
		for range 1 + updates {
			if _, err := l.Take(t.Context(), "k", 1); err != nil {
				return err
			}
		}
		var all, heapOnly int
		err := tx.QueryRow(t.Context(), "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = $1",
			o.Table[0]).Scan(&all, &heapOnly)
		assert.Equal(t, updates, all)
		assert.Greater(t, heapOnly, updates/2, "all, but those that come in another minute")
		return err
	}))
}

// The store works with every way in which pgx can send statements, and with transactions that do
// not see what others have committed meanwhile.
func TestModes(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	for _, setting := range []string{
		"default_query_exec_mode=cache_describe", "default_query_exec_mode=describe_exec",
		"default_query_exec_mode=exec", "default_query_exec_mode=simple_protocol",
		"default_transaction_isolation=repeatable%20read",
	} {
		t.Run(setting, func(t *testing.T) {
			var all []*weir.KeyedLimiter
			var s *pgstore.Store
			o := newTable()
			for range runs.Long(4, runs.InCI(4, 2)) {
				s = newStore(t, newPool(t, server.URL(server.Addr())+"&"+setting), o)
				require.NoError(t, s.CreateTable(t.Context()))
				all = append(all, newLimiter(t, s, traffic.Spacious))
			}
			done := make(chan error)
			const each = 25
			for _, l := range all {
				go func() {
					for range each {
						if _, err := l.Take(t.Context(), "k", 1); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
			}
			for range all {
				require.NoError(t, <-done)
			}
			assert.Equal(t, each*len(all), traffic.Counted(t, all[0], "k"))
			require.NoError(t, all[0].Reset(t.Context(), "k"))
			assert.Zero(t, traffic.Counted(t, all[1], "k"))
			n, err := s.DeleteExpired(t.Context())
			require.NoError(t, err)
			assert.Zero(t, n)
		})
	}
}

// A value that no store wrote is an error of the requests for its key, and of no others.
func TestCorruptedValues(t *testing.T) {
	t.Parallel()
	s, pool, o := newShared(t)
	l := newLimiter(t, s, weir.SlidingLog{Limit: 5, Per: time.Hour})
	intact := value(t, l, pool, o)
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
		exec(t, pool, "UPDATE "+o.Table.Sanitize()+" SET value = $1", v)
		r, err := l.Take(t.Context(), "k", 1)
		if len(v) == 0 {
			assert.NoError(t, err, "as no row")
			continue
		}
		assert.ErrorIs(t, err, weir.ErrRequest, "%x", v)
		assert.Equal(t, weir.Result{}, r)
		assert.True(t, l.Allow(fmt.Sprint("another ", rnd.Uint64())))
	}
	require.NoError(t, l.Reset(t.Context(), "k"))
	assert.True(t, l.Allow("k"))
}

// value takes an event of the key k, and returns the value of its row.
func value(t *testing.T, l *weir.KeyedLimiter, pool *pgxpool.Pool, o pgstore.Options) (v []byte) {
	t.Helper()
	require.True(t, l.Allow("k"))
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT value FROM "+o.Table.Sanitize()).Scan(&v))
	return v
}
