package fleet_test

import (
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/storetest"
)

// Two DenyCaches are in front of one store, as in two processes. After one gives events back, the
// other goes on denying for MaxAge at most.
func TestDenyCache_Bounds(t *testing.T) {
	const maxAge = 5 * time.Second
	on := func(shared *weir.MemStore) weir.Store {
		return front{fleet.DenyCache(shared, fleet.DenyCacheOptions{MaxAge: maxAge}), shared}
	}
	storetest.Run(t,
		func(*testing.T) weir.Store { return on(new(weir.MemStore)) },
		storetest.Shared(func(_ *testing.T, s weir.Store) weir.Store { return on(s.(front).shared) }),
		storetest.Bounds(maxAge))
}

// A front is a store, and what is behind it.
type front struct {
	weir.Store
	shared *weir.MemStore
}
