package redisstore

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/redistest"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/script"
	"github.com/weir-go/weir/storetest"
)

// A drivenStore decides by a clock that the test sets.
type drivenStore struct {
	*Store
	now    atomic.Int64
	skew   time.Duration
	prefix string
}

// anySkew lets the clock step back as far as a test likes to.
const anySkew = 1 << 60

var drivenStores atomic.Int64

func newClient(tb testing.TB, addr string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: addr})
	tb.Cleanup(func() { client.Close() })
	return client
}

func newDriven(tb testing.TB, client Client, skew time.Duration, opts ...Option) *drivenStore {
	s := &drivenStore{skew: skew, prefix: fmt.Sprintf("test%d", drivenStores.Add(1))}
	opts = append([]Option{
		func(c *remote.Config) {
			c.Clock = func() any { return script.Driven(s.now.Load(), s.skew) }
		},
		WithPrefix(s.prefix),
		WithTimeout(time.Minute),
	}, opts...)
	store, err := New(client, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	s.Store = store
	return s
}

func (s *drivenStore) set(now time.Time) { s.now.Store(now.UnixNano()) }

// another is a store on the same keys, by a client of its own, as another process has it.
func (s *drivenStore) another(tb testing.TB, addr string) *drivenStore {
	return newDriven(tb, newClient(tb, addr), s.skew, WithPrefix(s.prefix))
}

func TestStore(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	client := newClient(t, proxy.Addr())
	storetest.Run(t,
		func(t *testing.T) weir.Store { return newDriven(t, client, anySkew) },
		storetest.OwnClock(time.Microsecond, func(s weir.Store, now time.Time) { s.(*drivenStore).set(now) }),
		storetest.Shared(func(t *testing.T, s weir.Store) weir.Store { return s.(*drivenStore).another(t, server.Addr()) }),
		storetest.LostReplies(func(_ weir.Store, n int) {
			proxy.LoseReplies(n, func(command []string) bool { return strings.HasPrefix(strings.ToLower(command[0]), "eval") })
		}),
		storetest.Hangs(func(weir.Store) func() {
			proxy.Stall()
			return proxy.Forward
		}),
		storetest.RoundTrips())
}

func TestStoreInRealTime(t *testing.T) {
	t.Parallel()
	client := newClient(t, redistest.Single(t).Addr())
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			s, err := New(client, WithPrefix(fmt.Sprintf("test%d", drivenStores.Add(1))))
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		storetest.RealTime(), storetest.RoundTrips())
}
