package pgstore

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options determine how a [Store] behaves. The zero value of every field is a good default.
type Options struct {
	// Table is the name of the table. The name of its schema may come before it:
	//
	//	pgx.Identifier{"limits"}
	//	pgx.Identifier{"shop", "limits"}
	//
	// The default is pgx.Identifier{"weir"}. Names are quoted: upper and lower case differ, and all
	// characters except NUL are allowed. The name of the table has at most 55 bytes, and that of
	// the schema 63. Without the name of a schema, PostgreSQL finds the table by the search_path of
	// the connection.
	Table pgx.Identifier

	// Timeout is the longest time that a decision takes; 0 means one second. An earlier deadline of
	// the context takes precedence.
	Timeout time.Duration
}

// PostgreSQL silently cuts off names after maxName bytes. Two tables could then get the same name.
// The name of the index is the name of the table, followed by indexSuffix.
const (
	maxName     = 63
	indexSuffix = "_expires"
)

// check returns all faults of the options.
func (o Options) check() error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("weir: pgstore.Options."+format, args...))
	}
	if n := len(o.Table); n > 2 {
		fault("Table has %d names, must have that of a table, or of a schema and a table", n)
	}
	for i, name := range o.Table {
		most := maxName
		if i == len(o.Table)-1 {
			most -= len(indexSuffix)
		}
		if name == "" || len(name) > most || strings.ContainsRune(name, 0) {
			fault("Table has the name %q, must have 1 to %d bytes, and no NUL", name, most)
		}
	}
	if o.Timeout < 0 {
		fault("Timeout is %v, must be at least 0", o.Timeout)
	}
	return errors.Join(errs...)
}
