package fleet_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// However many plans there are, few are remembered, and each keeps its share.
func TestShares_ManyPlans(t *testing.T) {
	shares := sharesOf(t, new(weir.MemStore), 0, 2)
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(shares),
		weir.WithPolicyFor(func(_ context.Context, key string) weir.Policy {
			limit, _ := strconv.Atoi(key)
			return weir.TokenBucket{Limit: limit, Per: time.Hour}
		})))
	for range 2 {
		for i := 1; i <= runs.Long(20_000, 8000); i++ {
			if got := kit.Take(t, l, strconv.Itoa(i), 0).Limit; got != max(i/2, 1) {
				require.Equal(t, max(i/2, 1), got)
			}
		}
	}
}

// However often the members change, few changes are remembered.
func TestShares_ManyChanges(t *testing.T) {
	shares, r := fleet.NewShares(new(weir.MemStore)), rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		members := r.IntN(6)
		set(t, shares, r.IntN(max(members, 1)), members)
		require.LessOrEqual(t, shares.Places(), 18) // among up to 5 members there are 15
	}
}

// A decision on a known key allocates nothing, whatever the share.
func TestShares_Allocs(t *testing.T) {
	for n := 1; n <= 3; n++ {
		shares := sharesOf(t, new(weir.MemStore), 0, n)
		require.NoError(t, shares.Set(fleet.Membership{Members: n, Until: time.Now().Add(century)}))
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 1e6, Per: time.Hour}, weir.WithStore(shares)))
		assert.Zero(t, kit.AllocsPerRun(100, func() { l.Allow("k") }))
		assert.Zero(t, kit.AllocsPerRun(100, func() { kit.Take(t, l, "k", 1) }))
	}
}

func BenchmarkShares(b *testing.B) {
	policy := weir.TokenBucket{Limit: 1e8, Per: century}
	mem := new(weir.MemStore)
	leased := sharesOf(b, mem, 0, 3)
	if err := leased.Set(fleet.Membership{Members: 3, Until: time.Now().Add(century)}); err != nil {
		b.Fatal(err)
	}
	for _, store := range []struct {
		name string
		weir.Store
	}{
		{"memory", kit.StoreFunc(mem.Do)},
		{"shares", sharesOf(b, mem, 0, 3)},
		{"leased", leased},
	} {
		l := weir.Must(weir.New(policy, weir.WithStore(store.Store)))
		ask := func() { _, _ = l.Take(context.Background(), "203.0.113.77:443", 1) }
		b.Run("store="+store.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
		b.Run("store="+store.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ask()
				}
			})
		})
	}
}
