package change_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A store may leave out the Policy of a Rule. The Deciders of this package tell what must be known.
func TestR21_RulesWithoutPolicies(t *testing.T) {
	var with, without []weir.Rule
	for i, text := range []string{
		"4/1s", "leaky-bucket 7/1m", "fixed-window 5/1h", "sliding-window 6/1m buckets=3", "sliding-log 3/1m",
		"calendar-window 9/day", "single-rate-marker 4/1s excess=2", "two-rate-marker(4/1s, 5/1s)",
		"all(3/1s, 9/1m)", "all(sliding-log 3/1s)", "tiers(3/1s, sliding-log 9/1m)", "all(tiers(2/1s, 4/1s), all(5/1m, 6/1h))",
	} {
		p, err := weir.ParsePolicy(text)
		require.NoError(t, err)
		d, err := p.Decider()
		require.NoError(t, err)
		with = append(with, weir.Rule{Policy: p, Decider: d, Tag: uint64(i + 1)})
		without = append(without, weir.Rule{Decider: d, Tag: uint64(i + 1)})
	}
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 0))
		few := random.Perm(len(with))[:3]
		var l, m weir.Ledger
		for now := int64(kit.T0); now < kit.T0+2e9; now += random.Int64N(1e9) {
			by := few[random.IntN(len(few))]
			ask := weir.Ask{N: random.IntN(6) - 1, Mode: weir.GrantMode(random.IntN(3))}
			next, want, changed, err := l.Decide(with[by], now, ask)
			require.NoError(t, err)
			same, got, also, err := m.Decide(without[by], now, ask)
			require.NoError(t, err)
			about := fmt.Sprintf("seed %d, %v, %+v", seed, with[by].Policy, ask)
			require.Equal(t, want, got, about)
			require.Equal(t, changed, also, about)
			l, m = next, same
			for i := range l.By {
				used, limit := l.Usage(l.By[i], now)
				n, of := m.Usage(m.By[i], now)
				require.Equal(t, [2]uint64{used, limit}, [2]uint64{n, of}, about)
			}
		}
	}
}
