package memcachedstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// A register is a [casstore.Register] on memcached. The version of an item is its CAS number, a
// uint64. A server draws it anew for each write of any item, so that it does not come back until the
// server restarts. A key without an item has no version.
//
// The client has no contexts. Its own timeout ends each command.
type register struct{ client Client }

// errNoCAS is the error for a server without CAS numbers. It would accept every CompareAndSwap.
var errNoCAS = errors.New("the server has no CAS numbers, must run without the flag -C")

// Get implements [casstore.Register].
func (r *register) Get(_ context.Context, key string) (casstore.Entry, error) {
	item, err := r.client.Get(key)
	switch {
	case errors.Is(err, memcache.ErrCacheMiss):
		return casstore.Entry{}, nil
	case err == nil && item.CasID == 0:
		err = errNoCAS
	}
	if err != nil {
		return casstore.Entry{}, wrap("read an item", err)
	}
	return casstore.Entry{Value: item.Value, Version: item.CasID}, nil
}

// Swap implements [casstore.Register]. It does not return what the key holds, because memcached
// does not report that.
func (r *register) Swap(
	_ context.Context, key string, old casstore.Entry, value []byte, keep time.Duration,
) (now casstore.Entry, ok bool, err error) {
	item := &memcache.Item{Key: key, Value: value, Expiration: expiration(keep, time.Now())}
	write := r.client.Add
	if version, ok := old.Version.(uint64); ok {
		item.CasID, write = version, r.client.CompareAndSwap
	}
	switch err := write(item); {
	case err == nil:
		return casstore.Entry{}, true, nil
	case errors.Is(err, memcache.ErrNotStored), errors.Is(err, memcache.ErrCASConflict),
		errors.Is(err, memcache.ErrCacheMiss): // there is an item; there is another; it is gone
		return casstore.Entry{}, false, nil
	default:
		return casstore.Entry{}, false, wrap("replace an item", err)
	}
}

// Delete implements [casstore.Register]. After it, a Swap of an item that was read before it does
// not succeed: the item with its CAS number is gone.
func (r *register) Delete(_ context.Context, key string) error {
	if err := r.client.Delete(key); err != nil && !errors.Is(err, memcache.ErrCacheMiss) {
		return wrap("delete an item", err)
	}
	return nil
}

// The server's clock has whole seconds. It is set once a second, and shows a time that is up to lag
// old.
const lag = 2 * time.Second

// The server reads a time to live above longestSpan as an instant. This process computes the
// instant by its own clock, and the server compares it with another clock. The instant is therefore
// later by apart.
const (
	longestSpan = 30 * 24 * time.Hour
	apart       = 24 * time.Hour
)

// expiration returns the Expiration with which a server keeps an item for at least keep from now
// on. It is in seconds, or an instant, or 0 for ever. Instants end in the year 2038.
func expiration(keep time.Duration, now time.Time) int32 {
	if keep <= longestSpan-lag {
		return int32((keep + lag + time.Second - 1) / time.Second)
	}
	at := now.Add(keep).Add(apart).Unix() + 1
	if at > math.MaxInt32 {
		return 0
	}
	return int32(at)
}

// tooLarge is in the server's answer to an item that is longer than its flag -I allows.
const tooLarge = "object too large for cache"

// wrap returns the error of an action.
func wrap(action string, err error) error {
	switch {
	case errors.Is(err, memcache.ErrNoServers):
		err = fmt.Errorf("%w (memcache.New leaves out all if a name does not resolve; "+
			"memcache.ServerList.SetServers returns that error)", err)
	case errors.Is(err, memcache.ErrMalformedKey), strings.Contains(err.Error(), tooLarge):
		// The server works. Requests for such keys must not make it look as if it were down.
		err = fmt.Errorf("%w: %w", weir.ErrRequest, err)
	}
	return fmt.Errorf("weir: memcachedstore: cannot %s: %w", action, err)
}
