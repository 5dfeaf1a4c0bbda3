package fleet_test

import (
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/storetest"
)

// Two LeaseStores in front of one store, as in two processes.
func TestLease_Bounds(t *testing.T) {
	on := func(shared *weir.MemStore) weir.Store {
		return leasing{fleet.Lease(shared, fleet.LeaseOptions{}), shared}
	}
	storetest.Run(t,
		func(*testing.T) weir.Store { return on(new(weir.MemStore)) },
		storetest.Shared(func(_ *testing.T, s weir.Store) weir.Store { return on(s.(leasing).shared) }),
		storetest.Bounds(5*time.Second),
		storetest.Bubble())
}

// leasing is a store, and what is behind it.
type leasing struct {
	*fleet.LeaseStore
	shared *weir.MemStore
}
