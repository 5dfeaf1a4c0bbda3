package storetest_test

import (
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/storetest"
	"github.com/weir-go/weir/storetest/faultproxy"
)

// A store whose server has a clock of its own, in front of which a proxy breaks the network.
func TestServerWithClock(t *testing.T) {
	t.Parallel() // it waits for calls that hang
	server := newRemoteServer(t)
	server.keep = time.Hour // its own clock is not that by which it drops states
	proxy := faultproxy.New(t, server.addr, nil)
	storetest.Run(t,
		func(t *testing.T) weir.Store { return newRemoteStore(t, server, proxy.Addr()) },
		storetest.RoundTrips(),
		storetest.OwnClock(time.Nanosecond, func(_ weir.Store, now time.Time) { server.setClock(now) }),
		storetest.Shared(func(t *testing.T, s weir.Store) weir.Store { return s.(*RemoteStore).sharing(t) }),
		storetest.LostReplies(func(_ weir.Store, n int) { proxy.LoseReplies(n, nil) }),
		storetest.Hangs(func(weir.Store) func() {
			proxy.Stall()
			return proxy.Forward
		}))
}

// A store that decides by the limiter's clock, and whose server drops expired states by real time.
func TestServerThatExpires(t *testing.T) {
	t.Parallel() // it waits for states to expire
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			server := newRemoteServer(t)
			server.keep = time.Hour // longer than in production
			return newRemoteStore(t, server, server.addr)
		},
		storetest.RoundTrips(),
		storetest.ServerExpiry(inProduction))
}

// inProduction returns a store whose server drops states soon after they have expired. A limiter may
// have read its clock a while before the server decides.
func inProduction(t *testing.T) weir.Store {
	server := newRemoteServer(t)
	server.keep = time.Second
	return newRemoteStore(t, server, server.addr)
}
