package pgstore_test

import (
	"testing"

	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/pgstore/internal/test/pgtest"
)

// Processes that take events ahead of need share their limits, to the event.
func TestStoreBehindLeases(t *testing.T) {
	t.Parallel()
	first, _, o := newShared(t)
	server := pgtest.Shared(t)
	traffic.Leases(t, first, newStore(t, newPool(t, server.URL(server.Addr())), o))
}
