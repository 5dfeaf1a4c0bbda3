package pgstore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/pgstore"
	"github.com/weir-go/weir/pgstore/internal/test/pgtest"
	"github.com/weir-go/weir/storetest"
	"github.com/weir-go/weir/storetest/faultproxy"
)

// A drivenStore decides by a clock that the test sets.
type drivenStore struct {
	*pgstore.Store
	now    atomic.Int64
	prefix string
}

func newDriven(db pgstore.DB, o pgstore.Options, prefix string) *drivenStore {
	s := &drivenStore{prefix: prefix}
	s.Store = pgstore.NewDriven(db, o, prefix, func() time.Time { return time.Unix(0, s.now.Load()) })
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	_, pool, o := newShared(t)
	server := pgtest.Shared(t)
	another := newPool(t, server.URL(server.Addr()))
	proxy := faultproxy.New(t, server.Addr(), nil)
	proxied := newPool(t, server.URL(proxy.Addr()))
	n, had := 0, 0 // stores, and replies lost before
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			runs.Short(t, runs.InCI(runs.Server, runs.Client))
			if strings.HasSuffix(t.Name(), "/Failures:_lost_replies") {
				runs.SkipDear(t) // each costs a process of the server; TestFaults_RepliesLost loses some
			}
			n++
			db := pool
			if strings.Contains(t.Name(), "/Failures:_") {
				db = proxied // which makes each round trip longer
			}
			return newDriven(db, o, fmt.Sprint(n, "/"))
		},
		storetest.OwnClock(time.Microsecond, func(s weir.Store, now time.Time) {
			s.(*drivenStore).now.Store(now.UnixNano())
		}),
		storetest.Shared(func(_ *testing.T, s weir.Store) weir.Store {
			return newDriven(another, o, s.(*drivenStore).prefix)
		}),
		storetest.LostReplies(func(_ weir.Store, n int) {
			assert.True(t, n > 0 || proxy.Lost() > had, "no reply was lost")
			had = proxy.Lost()
			proxy.LoseReplies(n, isSwap)
		}),
		storetest.Hangs(func(weir.Store) func() {
			proxy.Stall()
			return proxy.Forward
		}),
		storetest.RoundTrips())
}

// What depends on the clock, with that of the server.
func TestStoreInRealTime(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	_, pool, o := newShared(t)
	n := 0
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			runs.Only(t, runs.Clock)
			n++
			return pgstore.NewDriven(pool, o, fmt.Sprint(n, "/"), nil)
		},
		storetest.RealTime(), storetest.RoundTrips())
}

// Many pools grant exactly the limit of a key.
func TestPoolsShareALimit(t *testing.T) {
	t.Parallel()
	_, _, o := newShared(t)
	server := pgtest.Shared(t)
	const callers, limit = 8, 100
	pools := runs.Long(8, runs.InCI(8, 3))
	var granted, denied atomic.Int64
	done := make(chan error)
	for range pools {
		l := newLimiter(t, newStore(t, newPool(t, server.URL(server.Addr())), o),
			weir.FixedWindow{Limit: limit, Per: traffic.Year, FromFirst: true})
		for range callers {
			go func() {
				for range runs.Long(50, 10) {
					switch r, err := l.Take(t.Context(), "k", 1); {
					case err != nil:
						done <- err
						return
					case r.Allowed:
						granted.Add(1)
					default:
						denied.Add(1)
					}
				}
				done <- nil
			}()
		}
	}
	for range pools * callers {
		require.NoError(t, <-done)
	}
	assert.EqualValues(t, limit, granted.Load())
	assert.Positive(t, denied.Load(), "more was asked for than there is")
}
