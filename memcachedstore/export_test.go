package memcachedstore

import (
	"context"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

var Expiration = expiration

// Register returns the Register of s.
func Register(s *Store) casstore.Register { return s.reg }

// NewPrefixed returns a Store with keys of its own, by their prefix. It keeps values for longer
// than it must: a test may have another clock than the server.
func NewPrefixed(client Client, o Options, prefix string, longer time.Duration) *Store {
	r := &register{client}
	key := func(name, key string) string { return prefix + casstore.Key(name, key) }
	return &Store{casstore.New(keeper{r, longer}, casstore.Options{Timeout: o.Timeout, Key: key}), r}
}

type keeper struct {
	*register
	longer time.Duration
}

func (k keeper) Swap(
	ctx context.Context, key string, old casstore.Entry, value []byte, keep time.Duration,
) (casstore.Entry, bool, error) {
	if keep < weir.Never-k.longer {
		keep += k.longer
	}
	return k.register.Swap(ctx, key, old, value, keep)
}
