package memcachedstore_test

import (
	"testing"

	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
)

// Processes that take events ahead of need share their limits, to the event.
func TestStoreBehindLeases(t *testing.T) {
	t.Parallel()
	addr := memcachedtest.Shared(t).Addr()
	traffic.Leases(t, newStore(t, newClient(t, addr)), newStore(t, newClient(t, addr)))
}
