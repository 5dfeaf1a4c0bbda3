package pgstore_test

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/pgstore"
	"github.com/weir-go/weir/pgstore/internal/test/pgtest"
)

func TestNew_Faults(t *testing.T) {
	t.Parallel()
	_, err := pgstore.New(nil, pgstore.Options{
		Table:   pgx.Identifier{"a", "", strings.Repeat("x", 56)},
		Timeout: -1,
	})
	assert.EqualError(t, err, `weir: pgstore.New with a nil DB, must be one
weir: pgstore.Options.Table has 3 names, must have that of a table, or of a schema and a table
weir: pgstore.Options.Table has the name "", must have 1 to 63 bytes, and no NUL
weir: pgstore.Options.Table has the name "`+strings.Repeat("x", 56)+`", must have 1 to 55 bytes, and no NUL
weir: pgstore.Options.Timeout is -1ns, must be at least 0`)
	_, err = pgstore.New(new(pgx.Conn), pgstore.Options{Table: pgx.Identifier{"a\x00b"}})
	assert.ErrorContains(t, err, `"a\x00b"`)

	var pool *pgxpool.Pool // as pgxpool.New returns it with an error
	_, err = pgstore.New(pool, pgstore.Options{})
	assert.EqualError(t, err, "weir: pgstore.New with a nil DB, must be one")
}

// Every name that is allowed is that of a table of its own, with an index of its own.
func TestTableNames(t *testing.T) {
	t.Parallel()
	_, pool, _ := newShared(t)
	exec(t, pool, `DROP SCHEMA IF EXISTS "My ""schema""" CASCADE`) // of an earlier run
	exec(t, pool, `CREATE SCHEMA "My ""schema"""`)
	long := strings.Repeat("é", 27)
	for _, table := range []pgx.Identifier{
		nil,
		{"Weir"},
		{`x"; DROP TABLE weir; --`},
		{`My "schema"`, "weir"},
		{`My "schema"`, `{table}.{index} $1 'x' "y" \`},
		{long + "a"},
		{long + "b"},
	} {
		s := newStore(t, pool, pgstore.Options{Table: table, Timeout: traffic.Patience})
		if table == nil {
			table = pgx.Identifier{"weir"}
		}
		exec(t, pool, "DROP TABLE IF EXISTS "+table.Sanitize())
		l := newLimiter(t, s, traffic.Spacious)
		_, err := l.Take(t.Context(), "k", 1)
		assert.ErrorContains(t, err, "there is no table "+table.Sanitize()+", make it by Store.CreateTable")
		var of *pgconn.PgError
		assert.ErrorAs(t, err, &of)
		assert.NotErrorIs(t, err, weir.ErrRequest)
		for range 2 { // the second time it exists
			require.NoError(t, s.CreateTable(t.Context()))
		}
		assert.Zero(t, traffic.Counted(t, l, "k"), "%v", table)
		assert.True(t, l.Allow("k"))
		assert.Equal(t, 1, traffic.Counted(t, l, "k"), "%v", table)
		_, err = s.DeleteExpired(t.Context())
		assert.NoError(t, err)
		assert.NoError(t, l.Reset(t.Context(), "k"))
	}
}

func TestCreateTable_AtTheSameTime(t *testing.T) {
	t.Parallel()
	pool, o := sharedPool(t), newTable()
	s := newStore(t, pool, o)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { assert.NoError(t, s.CreateTable(t.Context())) })
	}
	all.Wait()
	assert.EqualValues(t, 2, exec(t, pool, "SELECT FROM pg_indexes WHERE tablename = $1", o.Table[0]))
}

// docs/stores.md shows what CreateTable executes, for the default name.
func TestCreateTable_Docs(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../docs/stores.md")
	require.NoError(t, err)
	want := strings.NewReplacer("{table}", "weir", "{index}", "weir_expires").Replace(pgstore.Schema)
	assert.Contains(t, string(docs), "```sql\n"+want+"```\n")
}

// The statements that docs/stores.md shows for a user are enough for decisions and for deletions.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	_, pool, o := newShared(t)
	const grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON weir TO app;"
	docs, err := os.ReadFile("../docs/stores.md")
	require.NoError(t, err)
	require.Contains(t, string(docs), grant)
	app := strings.ReplaceAll(o.Table[0], " ", "_") // no other test has it
	exec(t, pool, "CREATE ROLE "+app+" LOGIN")
	exec(t, pool, strings.NewReplacer("weir", o.Table.Sanitize(), "app", app).Replace(grant))
	s := newStore(t, newPool(t, strings.Replace(server.URL(server.Addr()), "postgres@", app+"@", 1)), o)
	l := newLimiter(t, s, traffic.Spacious)
	for range 2 {
		_, err := l.Take(t.Context(), "k", 1)
		require.NoError(t, err)
	}
	assert.Equal(t, 2, traffic.Counted(t, l, "k"))
	exec(t, pool, "UPDATE "+o.Table.Sanitize()+" SET expires = '2000-01-01'")
	n, err := s.DeleteExpired(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
	require.NoError(t, l.Reset(t.Context(), "k"))

	exec(t, pool, "REVOKE UPDATE ON "+o.Table.Sanitize()+" FROM "+app)
	assert.True(t, l.Allow("k"))
	_, err = l.Take(t.Context(), "k", 1)
	assert.ErrorContains(t, err, "weir: pgstore: cannot replace a row: ")
	assert.ErrorContains(t, err, "permission denied")
	assert.ErrorContains(t, s.CreateTable(t.Context()), "permission denied")
}

// Expired rows are deleted, and no others.
func TestDeleteExpired(t *testing.T) {
	t.Parallel()
	s, pool, o := newShared(t)
	table := o.Table.Sanitize()
	exec(t, pool, "INSERT INTO "+table+` SELECT 'old ' || i, i, 'x', now() - i * interval '1 second'
		FROM generate_series(1, $1::int) AS i`, 2*pgstore.Batch+5)
	exec(t, pool, "INSERT INTO "+table+" VALUES ('soon', 1, 'x', now() + interval '1 hour'), ('never', 2, 'x', NULL)")
	n, err := s.DeleteExpired(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 2*pgstore.Batch+5, n)
	n, err = s.DeleteExpired(t.Context())
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.EqualValues(t, 2, exec(t, pool, "SELECT FROM "+table))

	exec(t, pool, "DROP TABLE "+table)
	_, err = s.DeleteExpired(t.Context())
	assert.ErrorContains(t, err, "there is no table")
}

// A row that is in use is skipped, and not waited for. A decision on a row that is deleted
// meanwhile is made again.
func TestDeleteExpired_BesideDecisions(t *testing.T) {
	t.Parallel()
	s, pool, o := newShared(t)
	table := o.Table.Sanitize()
	r := pgstore.Register(s)
	_, ok, err := r.Swap(t.Context(), "k", casstore.Entry{}, []byte{1}, time.Millisecond)
	require.NoError(t, err)
	require.True(t, ok)
	exec(t, pool, "UPDATE "+table+" SET expires = '2000-01-01'")
	old, err := r.Get(t.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT FROM "+table+" FOR UPDATE"); err != nil {
			return err
		}
		n, err := s.DeleteExpired(t.Context())
		assert.Zero(t, n)
		return err
	}))
	n, err := s.DeleteExpired(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
	_, ok, err = r.Swap(t.Context(), "k", old, []byte{2}, time.Hour)
	require.NoError(t, err)
	assert.False(t, ok, "it no longer holds the old value")
}
