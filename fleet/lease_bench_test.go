package fleet_test

import (
	"context"
	"testing"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// hot are limiters of one key that is always granted, with a lease and without.
var hot = []struct {
	name  string
	store func() weir.Store
}{
	{"MemStore", func() weir.Store { return new(weir.MemStore) }},
	{"Lease", func() weir.Store { return fleet.Lease(new(weir.MemStore), fleet.LeaseOptions{}) }},
}

func hotLimiter(store weir.Store) *weir.KeyedLimiter {
	return weir.Must(weir.New(weir.FixedWindow{Limit: 1e8, Per: century},
		weir.WithStore(store), weir.WithName("logins")))
}

// BenchmarkLease compares a hot key over a Lease with one in a MemStore:
//
//	go test -run '^$' -bench Lease -count 10 ./fleet
func BenchmarkLease(b *testing.B) {
	ctx := context.Background()
	for _, h := range hot {
		b.Run("Allow/"+h.name, func(b *testing.B) {
			l := hotLimiter(h.store())
			b.ReportAllocs()
			for b.Loop() {
				l.Allow("203.0.113.7")
			}
		})
		b.Run("Take/"+h.name, func(b *testing.B) {
			l := hotLimiter(h.store())
			b.ReportAllocs()
			for b.Loop() {
				_, _ = l.Take(ctx, "203.0.113.7", 1)
			}
		})
	}
}

// Leases are taken now and then. The decisions between them allocate nothing.
func TestLease_HotKeyAllocatesNothing(t *testing.T) {
	l := hotLimiter(hot[1].store())
	for range 1000 {
		l.Allow("k")
	}
	if allocs := kit.AllocsPerRun(10_000, func() { l.Allow("k") }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// Neither do requests that are passed on, whatever the number of policies.
func TestLease_PoliciesInTurnAllocateNothing(t *testing.T) {
	policies := []weir.Policy{
		weir.TokenBucket{Limit: 50, Per: century},
		weir.FixedWindow{Limit: 60, Per: century},
		weir.All(weir.TokenBucket{Limit: 50, Per: century}, weir.FixedWindow{Limit: 60, Per: century}),
	}
	turn := 0
	l := weir.Must(weir.New(policies[0], weir.WithStore(hot[1].store()),
		weir.WithPolicyFor(func(context.Context, string) weir.Policy { return policies[turn] })))
	keys := []string{"a", "b", "c"}
	ask := func() {
		turn = (turn + 1) % len(policies)
		l.Allow(keys[turn])
	}
	for range 10 {
		ask()
	}
	if allocs := kit.AllocsPerRun(10_000, ask); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
