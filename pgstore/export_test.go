package pgstore

import (
	"context"
	"time"

	"github.com/weir-go/weir/casstore"
)

const (
	Schema = schema
	Batch  = batch
)

// Register returns the Register of s.
func Register(s *Store) casstore.Register { return s.reg }

// NewDriven returns a Store with keys of its own, by their prefix, and with a clock that tests set.
func NewDriven(db DB, o Options, prefix string, now func() time.Time) *Store {
	r := newRegister(db, o.Table)
	key := func(name, key string) string { return prefix + casstore.Key(name, key) }
	return &Store{casstore.New(driven{r, now}, casstore.Options{Timeout: o.Timeout, Key: key}), r}
}

// A driven register reports another time than that of the server, unless that is nil.
type driven struct {
	*register
	now func() time.Time
}

func (d driven) Get(ctx context.Context, key string) (casstore.Entry, error) {
	e, err := d.register.Get(ctx, key)
	return d.at(e), err
}

func (d driven) Swap(
	ctx context.Context, key string, old casstore.Entry, value []byte, keep time.Duration,
) (casstore.Entry, bool, error) {
	e, ok, err := d.register.Swap(ctx, key, old, value, keep)
	return d.at(e), ok, err
}

func (d driven) at(e casstore.Entry) casstore.Entry {
	if d.now != nil && !e.Now.IsZero() {
		e.Now = d.now()
	}
	return e
}
