package pgstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/pgstore"
	"github.com/weir-go/weir/pgstore/internal/test/pgtest"
	"github.com/weir-go/weir/storetest/faultproxy"
)

var _ pgstore.DB = (*pgxpool.Pool)(nil)

func newPool(tb testing.TB, url string) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.New(context.Background(), url)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

var tables atomic.Int64

// newTable returns options with a table of its own.
func newTable() pgstore.Options {
	return pgstore.Options{Table: pgx.Identifier{fmt.Sprint("table ", tables.Add(1))}, Timeout: traffic.Patience}
}

func newStore(tb testing.TB, db pgstore.DB, o pgstore.Options) *pgstore.Store {
	tb.Helper()
	s, err := pgstore.New(db, o)
	require.NoError(tb, err)
	return s
}

// pool is of all tests that do not need one of their own. It stays open until the process ends,
// because every new connection is a process of the server, which takes longer than most tests. A
// test may hold two connections at a time.
var pool struct {
	sync.Mutex
	*pgxpool.Pool
}

// sharedPool returns the pool. Only parallel tests may use it: those that are not kill the server.
func sharedPool(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	server := pgtest.Shared(tb)
	pool.Lock()
	defer pool.Unlock()
	if pool.Pool == nil {
		p, err := pgxpool.New(context.Background(), server.URL(server.Addr())+"&pool_max_conns=8")
		require.NoError(tb, err)
		pool.Pool = p
	}
	return pool.Pool
}

// newShared returns a store with a table of its own in the shared pool, the pool, and the store's
// options.
func newShared(tb testing.TB) (*pgstore.Store, *pgxpool.Pool, pgstore.Options) {
	tb.Helper()
	pool, o := sharedPool(tb), newTable()
	s := newStore(tb, pool, o)
	require.NoError(tb, s.CreateTable(tb.Context()))
	return s, pool, o
}

// newProxied returns a store with a table of its own behind a proxy.
func newProxied(tb testing.TB, server *pgtest.Server) (*pgstore.Store, *faultproxy.Proxy) {
	tb.Helper()
	proxy := faultproxy.New(tb, server.Addr(), nil)
	s := newStore(tb, newPool(tb, server.URL(proxy.Addr())), newTable())
	require.NoError(tb, s.CreateTable(tb.Context()))
	return s, proxy
}

func newLimiter(tb testing.TB, s weir.Store, p weir.Policy) *weir.KeyedLimiter {
	tb.Helper()
	l, err := weir.New(p, weir.WithStore(s), weir.WithName("test"))
	require.NoError(tb, err)
	return l
}

func exec(tb testing.TB, pool *pgxpool.Pool, sql string, args ...any) int64 {
	tb.Helper()
	tag, err := pool.Exec(tb.Context(), sql, args...)
	require.NoError(tb, err)
	return tag.RowsAffected()
}

// isSwap reports whether a request executes a Swap: it is the only one with four parameters or
// more.
func isSwap(request []byte) bool {
	for len(request) >= 5 {
		size := 1 + int(binary.BigEndian.Uint32(request[1:]))
		if size > len(request) {
			return false
		}
		var bind pgproto3.Bind
		if request[0] == 'B' && bind.Decode(request[5:size]) == nil && len(bind.Parameters) >= 4 {
			return true
		}
		request = request[size:]
	}
	return false
}
