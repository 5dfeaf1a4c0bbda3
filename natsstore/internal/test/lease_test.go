package test

import (
	"testing"

	"github.com/weir-go/weir/internal/suite/traffic"
)

// Processes that take events ahead of need share their limits, to the event.
func TestStoreBehindLeases(t *testing.T) {
	t.Parallel()
	first, _, bucket := newShared(t)
	traffic.Leases(t, first, newStore(t, connect(t, addr(sharedServer(t))), bucket))
}
