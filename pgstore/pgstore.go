// Package pgstore keeps the states of limiters in PostgreSQL. Processes that use the same table can
// share limits:
//
//	pool, err := pgxpool.New(ctx, url)
//	…
//	store, err := pgstore.New(pool, pgstore.Options{})
//	…
//	limiter, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Second},
//		weir.WithStore(store), weir.WithName("search"))
//
// Give each limiter a name: without one, [weir.New] returns an error. Limiters of the same name
// share their keys, even if they belong to different services that use the same table.
//
// Create the table once, with [Store.CreateTable] or your migrations. Call [Store.DeleteExpired]
// from time to time.
//
// The store runs every policy. It reads a key's row and decides in the process. For a grant, it
// then replaces the row. If another process has changed the row meanwhile, the store decides again:
// see package [github.com/weir-go/weir/casstore]. A grant usually takes two statements, and a
// denial or a look (n = 0) usually one. Calls for the same key that one process makes at the same
// time share the statements.
//
// The store reads the time from the database server. The clocks of the processes do not matter.
package pgstore

import (
	"context"
	"errors"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// A DB sends statements. It must be safe for concurrent use, as a *pgxpool.Pool is. A *[pgx.Conn]
// does not fit, even if a single goroutine uses the Store: the statement of a call that has given
// up may still be in flight when the next call sends its own.
//
// Each statement must be a transaction of its own. Other processes would have to wait for the end
// of a longer transaction.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// A Store is a [weir.Store] in PostgreSQL. [New] makes it. It is safe for concurrent use by any
// number of limiters with any policies. It has goroutines only while statements are in flight, and
// need not be closed. It does not close the DB.
//
// If a statement that counts events returns an error, the events may have been counted. The Store
// does not send the statement again, so no request is counted twice. If a decision takes longer
// than the Timeout in [Options], its error wraps [casstore.ErrNoReply]. If other requests for the
// key always came first, the error wraps [casstore.ErrBusy].
//
// A statement is cancelled when all of its callers have given up. pgx then closes the connection.
type Store struct {
	cas *casstore.Store
	reg *register
}

var _ weir.Acceptor = (*Store)(nil)

// New returns a Store that sends its statements through db. New itself sends none. The error lists
// all faults of the arguments.
func New(db DB, o Options) (*Store, error) {
	err := o.check()
	if v := reflect.ValueOf(db); db == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		err = errors.Join(errors.New("weir: pgstore.New with a nil DB, must be one"), err)
	}
	if err != nil {
		return nil, err
	}
	r := newRegister(db, o.Table)
	return &Store{casstore.New(r, casstore.Options{Timeout: o.Timeout}), r}, nil
}

// Accept implements [weir.Acceptor].
func (s *Store) Accept(l *weir.KeyedLimiter) error { return s.cas.Accept(l) }

// Do implements [weir.Store].
func (s *Store) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	return s.cas.Do(ctx, r)
}
