package pgstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// schema makes the table and its index. docs/stores.md shows it.
//
// The rows are updated all the time. An update stays in the row's page, and changes no index, if
// the page has room and no column of an index changes. Swap therefore rounds expires up to the
// minute.
const schema = `CREATE TABLE IF NOT EXISTS {table} (
    key     text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    value   bytea NOT NULL,
    expires timestamptz
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS {index} ON {table} (expires);
`

// CreateTable makes the table and its index if they do not exist. The role that calls it must have
// the right to create tables in the schema, even if the table exists. If the table exists, the role
// must also own it. Several processes may call CreateTable at the same time. docs/stores.md shows
// the statements.
func (s *Store) CreateTable(ctx context.Context) error {
	// Without the lock, two sessions that create the same table at the same time may fail. The
	// statements are one transaction, because they are sent as one message.
	_, err := s.reg.db.Exec(ctx, lockSchema+s.reg.sql(schema))
	return s.reg.wrap("create the table", err)
}

// lockSchema takes a lock until the end of the transaction. Any number that no one else uses would
// do.
const lockSchema = "SELECT pg_advisory_xact_lock(8316291649012);\n"

// batch is how many rows one statement deletes: few enough for a short transaction.
const batch = 1000

// DeleteExpired deletes the expired rows that are not in use, and returns their number. Expired
// rows do not count in decisions, and only take up room. Call DeleteExpired from time to time, for
// example once a minute, in one of the processes or in all of them. Several calls at the same time
// share the work.
//
// Each statement deletes up to 1000 rows, and is a transaction of its own. If a key's row is
// deleted during a decision, the decision is made again. After an error, n is the number of rows
// that the statements before the error deleted.
func (s *Store) DeleteExpired(ctx context.Context) (n int64, err error) {
	for {
		tag, err := s.reg.db.Exec(ctx, s.reg.deleteExpired, batch)
		if err != nil {
			return n, s.reg.wrap("delete expired rows", err)
		}
		n += tag.RowsAffected()
		if tag.RowsAffected() < batch {
			return n, nil
		}
	}
}

// sql puts the names of the table and its index into a statement.
func (r *register) sql(statement string) string {
	index := r.table[len(r.table)-1] + indexSuffix
	return strings.NewReplacer("{table}", r.table.Sanitize(), "{index}", pgx.Identifier{index}.Sanitize()).
		Replace(statement)
}

// wrap returns the error of an action.
func (r *register) wrap(action string, err error) error {
	switch {
	case err == nil:
		return nil
	case stateOf(err) == undefinedTable:
		return fmt.Errorf("weir: pgstore: there is no table %s, make it by Store.CreateTable: %w", r.table.Sanitize(), err)
	}
	return fmt.Errorf("weir: pgstore: cannot %s: %w", action, err)
}
