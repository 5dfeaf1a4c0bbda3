package rueidisstore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/redistest"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/script"
	"github.com/weir-go/weir/storetest"
)

// newClient is a client with the options that users have who set none but these.
func newClient(tb testing.TB, change ...func(*rueidis.ClientOption)) rueidis.Client {
	tb.Helper()
	options := rueidis.ClientOption{}
	for _, c := range change {
		c(&options)
	}
	client, err := rueidis.NewClient(options)
	require.NoError(tb, err)
	tb.Cleanup(client.Close)
	return client
}

func at(addrs ...string) func(*rueidis.ClientOption) {
	return func(o *rueidis.ClientOption) { o.InitAddress = addrs }
}

func newStore(tb testing.TB, client rueidis.Client, opts ...Option) *Store {
	tb.Helper()
	s, err := New(client, opts...)
	require.NoError(tb, err)
	return s
}

var stores atomic.Int64

// apart is a prefix for the keys of one store.
func apart() Option { return WithPrefix(fmt.Sprintf("test%d", stores.Add(1))) }

// A drivenStore decides by a clock that the test sets.
type drivenStore struct {
	*Store
	now atomic.Int64
}

func newDriven(t *testing.T, client rueidis.Client) *drivenStore {
	const anySkew = 1 << 60 // lets the clock step back as far as a test likes to
	s := new(drivenStore)
	s.Store = newStore(t, client, apart(), WithTimeout(time.Minute), func(c *remote.Config) {
		c.Clock = func() any { return script.Driven(s.now.Load(), anySkew) }
	})
	return s
}

func TestStore(t *testing.T) {
	client := newClient(t, at(redistest.Single(t).Addr()))
	storetest.Run(t,
		func(t *testing.T) weir.Store { return newDriven(t, client) },
		storetest.OwnClock(time.Microsecond, func(s weir.Store, now time.Time) {
			s.(*drivenStore).now.Store(now.UnixNano())
		}),
		storetest.RoundTrips())
}

func TestStoreInRealTime(t *testing.T) {
	client := newClient(t, at(redistest.Single(t).Addr()))
	storetest.Run(t,
		func(t *testing.T) weir.Store { return newStore(t, client, apart()) },
		storetest.RealTime(), storetest.RoundTrips())
}
