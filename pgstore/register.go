package pgstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// A register is a [casstore.Register] on a table. The version of a row is a random number, which
// each Swap draws anew. A sequence would repeat versions after the database has lost its last
// transactions. That happens in a crash with synchronous_commit off, or in a failover to a standby
// that lags behind. A key without a row has no version.
type register struct {
	db    DB
	table pgx.Identifier

	get, insert, update, delete, deleteExpired string
}

// Parameters have casts, because some modes of pgx send them without types. clock_timestamp is read
// when the row has been found.
const (
	getSQL = `SELECT t.version, t.value, clock_timestamp()
FROM (SELECT) AS one LEFT JOIN {table} AS t ON t.key = $1::text`

	// If another process was faster, the rest of the statement sees the row as it was when the
	// statement began. That may still be the old one.
	insertSQL = `WITH swapped AS (
    INSERT INTO {table} (key, version, value, expires)
    VALUES ($1::text, $2::bigint, $3::bytea, ` + expiresSQL + `)
    ON CONFLICT (key) DO NOTHING
    RETURNING true
) ` + foundSQL

	updateSQL = `WITH swapped AS (
    UPDATE {table} SET version = $2::bigint, value = $3::bytea, expires = ` + expiresSQL + `
    WHERE key = $1::text AND version = $5::bigint
    RETURNING true
) ` + foundSQL

	// expiresSQL is $4 milliseconds from now, rounded up to a minute, or null for never.
	expiresSQL = `date_trunc('minute', clock_timestamp() + $4::bigint * interval '1 millisecond') + interval '1 minute'`

	foundSQL = `SELECT done.ok, t.version, t.value, clock_timestamp()
FROM (SELECT EXISTS (SELECT FROM swapped) AS ok) AS done
LEFT JOIN {table} AS t ON t.key = $1::text AND NOT done.ok`

	deleteSQL = `DELETE FROM {table} WHERE key = $1::text`

	// now() is constant during a statement, so the index can be used. With clock_timestamp() it
	// could not. Rows that are locked are skipped, because they are in use: a decision keeps them,
	// or another call deletes them.
	deleteExpiredSQL = `DELETE FROM {table} WHERE key = ANY (ARRAY(
    SELECT key FROM {table} WHERE expires <= now() ORDER BY expires LIMIT $1::bigint FOR UPDATE SKIP LOCKED
))`
)

func newRegister(db DB, table pgx.Identifier) *register {
	if len(table) == 0 {
		table = pgx.Identifier{"weir"}
	}
	r := &register{db: db, table: append(pgx.Identifier(nil), table...)}
	r.get, r.insert, r.update = r.sql(getSQL), r.sql(insertSQL), r.sql(updateSQL)
	r.delete, r.deleteExpired = r.sql(deleteSQL), r.sql(deleteExpiredSQL)
	return r
}

// Get implements [casstore.Register].
func (r *register) Get(ctx context.Context, key string) (casstore.Entry, error) {
	var f found
	if err := r.db.QueryRow(ctx, r.get, key).Scan(&f.version, &f.value, &f.now); err != nil {
		return casstore.Entry{}, r.wrap("read a row", err)
	}
	return f.entry(), nil
}

// Swap implements [casstore.Register].
func (r *register) Swap(
	ctx context.Context, key string, old casstore.Entry, value []byte, keep time.Duration,
) (now casstore.Entry, ok bool, err error) {
	var ms *int64
	if keep != weir.Never {
		ms = new(int64)
		*ms = keep.Milliseconds()
	}
	sql, args := r.insert, []any{key, int64(rand.Uint64()), value, ms}
	if old.Version != nil {
		sql, args = r.update, append(args, old.Version)
	}
	var f found
	switch err := r.db.QueryRow(ctx, sql, args...).Scan(&ok, &f.version, &f.value, &f.now); {
	case stateOf(err) == serializationFailure: // another process was faster, and transactions are isolated
		return casstore.Entry{}, false, nil
	case err != nil:
		return casstore.Entry{}, false, r.wrap("replace a row", err)
	case ok:
		return casstore.Entry{}, true, nil
	}
	if now = f.entry(); now.Version == old.Version { // the row as it was, not as it is
		return casstore.Entry{}, false, nil
	}
	return now, false, nil
}

// Delete implements [casstore.Register].
func (r *register) Delete(ctx context.Context, key string) error {
	_, err := r.db.Exec(ctx, r.delete, key)
	return r.wrap("delete a row", err)
}

// A found row is what a statement returned. The version is nil for no row.
type found struct {
	version *int64
	value   []byte
	now     time.Time
}

func (f found) entry() casstore.Entry {
	e := casstore.Entry{Value: f.value, Now: f.now}
	if f.version != nil {
		e.Version = *f.version
	}
	return e
}

// States of errors of PostgreSQL.
const (
	undefinedTable       = "42P01"
	serializationFailure = "40001"
)

// stateOf returns the state of an error of the server, or "".
func stateOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
