package redisstore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/redisstore/internal/remote"
)

// A drivenStore decides by a clock that the test sets.
type drivenStore struct {
	*Store
	now atomic.Int64
}

// anySkew lets the clock step back as far as a test likes to.
const anySkew = 1 << 60

var drivenStores atomic.Int64

func newClient(tb testing.TB, addr string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: time.Minute}) // a machine under load is no fault
	tb.Cleanup(func() { client.Close() })
	return client
}

func newDriven(tb testing.TB, client Client, skew time.Duration) *drivenStore {
	return newDrivenWith(tb, client, skew, remote.Config{})
}

func newDrivenWith(tb testing.TB, client Client, skew time.Duration, c remote.Config) *drivenStore {
	s := new(drivenStore)
	c.Clock, c.Skew = s.now.Load, skew
	if c.Prefix == "" {
		c.Prefix = fmt.Sprintf("test%d", drivenStores.Add(1))
	}
	s.Store = newStoreWith(tb, client, c)
	return s
}

func (s *drivenStore) set(now time.Time) { s.now.Store(now.UnixNano()) }
