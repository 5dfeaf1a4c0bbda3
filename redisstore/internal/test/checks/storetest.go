package checks

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
	"github.com/weir-go/weir/storetest"
)

var stores atomic.Int64

// apart is a prefix for the keys of one store.
func apart() string { return fmt.Sprintf("test%d", stores.Add(1)) }

// A driven store decides by a clock that the test sets.
type driven struct {
	weir.Store
	now    atomic.Int64
	prefix string
}

func newDriven(tb testing.TB, m Maker, addr, prefix string) *driven {
	const anySkew = 1 << 60 // lets the clock step back as far as a test likes to
	s := &driven{prefix: prefix}
	s.Store = m.on(tb, addr, remote.Config{Prefix: prefix, Clock: s.now.Load, Skew: anySkew})
	return s
}

// Store runs storetest, with a clock that it sets. TestScriptsAnswerAsDecidersDo and
// TestStoreAnswersAsDecidersDo check in each run what scripts compute.
func Store(t *testing.T, m Maker) {
	store(t, m, func(t *testing.T) { runs.Brief(t, runs.Server) })
}

// StoreOfAnotherClient runs the cases in which clients may differ. The scripts are those of
// redisstore.
func StoreOfAnotherClient(t *testing.T, m Maker) {
	store(t, m, func(t *testing.T) { runs.Short(t, runs.InCI(runs.Server, runs.Client)) })
}

func store(t *testing.T, m Maker, skip func(*testing.T)) {
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	had := 0 // replies lost before
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			skip(t)
			addr := server.Addr()
			if strings.Contains(t.Name(), "/Failures:_") {
				addr = proxy.Addr() // which makes each round trip longer, so other cases go without
			}
			return newDriven(t, m, addr, apart())
		},
		storetest.OwnClock(time.Microsecond, func(s weir.Store, now time.Time) { s.(*driven).now.Store(now.UnixNano()) }),
		storetest.Shared(func(t *testing.T, s weir.Store) weir.Store {
			return newDriven(t, m, server.Addr(), s.(*driven).prefix)
		}),
		storetest.LostReplies(func(_ weir.Store, n int) {
			check(t, n > 0 || proxy.Lost() > had, "no reply was lost")
			had = proxy.Lost()
			loseReplies(n, 0, []*redistest.Proxy{proxy})
		}),
		storetest.Hangs(func(weir.Store) func() {
			proxy.Stall()
			return proxy.Forward
		}),
		storetest.RoundTrips())
}

// InRealTime runs what depends on the clock, with the server's clock.
func InRealTime(t *testing.T, m Maker) {
	server := redistest.Single(t)
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			runs.Only(t, runs.Clock)
			return m.on(t, server.Addr(), remote.Config{Prefix: apart()})
		},
		storetest.RealTime(), storetest.RoundTrips())
}
