package change_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// R5: after changes of policy, too, MoreAfter is the time until more remain: not a nanosecond
// before, and at it. That of a look or of a component is the same, or not known.
func TestR5_MoreRemainAfterMoreAfter_OfALedger(t *testing.T) {
	known := 0
	for seed := range uint64(runs.Long(5_000, 100)) {
		r := rand.New(rand.NewPCG(seed, 5))
		var policies []weir.Policy
		for range 2 + r.IntN(3) {
			limit, per := 2+r.IntN(20), time.Duration(1+r.IntN(30))*time.Second
			kinds := append(kit.AllPolicies(limit, per), kit.MorePolicies(limit, per)...)
			policies = append(policies, kinds[r.IntN(len(kinds))])
		}
		k, now := kit.LedgerKey{T: t}, kit.T0
		for range 20 {
			p := policies[r.IntN(len(policies))]
			var parts, later []weir.Result
			n := r.IntN(4)
			a := k.Ask(p, now, weir.Ask{N: n, More: true, ByComponent: &parts}).Result
			after := k // which no look changes
			look := func(d time.Duration) int {
				later = nil
				return after.Ask(p, now+int64(d), weir.Ask{ByComponent: &later}).Remaining
			}
			switch {
			case a.Remaining == a.Limit:
				require.Zero(t, a.MoreAfter)
			case n == 0 && a.MoreAfter == 0: // a look does not begin the time of a charge
			default:
				require.Positive(t, a.MoreAfter, "%v", p)
				require.Equal(t, a.Remaining, look(a.MoreAfter-1), "%v", p)
				require.Greater(t, look(a.MoreAfter), a.Remaining, "%v", p)
			}
			for i, part := range parts {
				if part.MoreAfter > 0 {
					known++
					look(part.MoreAfter - 1)
					require.Equal(t, part.Remaining, later[i].Remaining, "%v: %d", p, i)
					look(part.MoreAfter)
					require.Greater(t, later[i].Remaining, part.Remaining, "%v: %d", p, i)
				}
			}
			now += r.Int64N(int64(8 * time.Second))
		}
	}
	require.Positive(t, known)
}
