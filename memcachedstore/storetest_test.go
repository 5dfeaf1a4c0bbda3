package memcachedstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/memcachedstore"
	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
	"github.com/weir-go/weir/storetest"
)

// A prefixedStore has keys of its own.
type prefixedStore struct {
	*memcachedstore.Store
	prefix string
}

func newPrefixed(client memcachedstore.Client, prefix string, longer time.Duration) prefixedStore {
	o := memcachedstore.Options{Timeout: traffic.Patience}
	return prefixedStore{memcachedstore.NewPrefixed(client, o, prefix, longer), prefix}
}

// newPrefix returns a prefix that no other store on the shared server has.
func newPrefix() string { return fmt.Sprint(names.Add(1), "/") }

func TestStore(t *testing.T) {
	t.Parallel()
	server := memcachedtest.Shared(t)
	proxy := newProxy(t, server.Addr())
	client, another, proxied := newClient(t, server.Addr()), newClient(t, server.Addr()), newClient(t, proxy.Addr())
	const longer = time.Hour // the clock of the suite differs from that of the server
	had := 0                 // replies lost before
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			runs.Short(t, runs.InCI(runs.Server, runs.Client))
			c := client
			if strings.Contains(t.Name(), "/Failures:_") {
				c = proxied // which makes each round trip longer
			}
			return newPrefixed(c, newPrefix(), longer)
		},
		storetest.Shared(func(_ *testing.T, s weir.Store) weir.Store {
			return newPrefixed(another, s.(prefixedStore).prefix, longer)
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
		storetest.ServerExpiry(func(*testing.T) weir.Store {
			return newPrefixed(client, newPrefix(), 0)
		}),
		storetest.RoundTrips())
}
