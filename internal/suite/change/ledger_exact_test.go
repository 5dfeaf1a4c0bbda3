package change_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// R15, rows 1 and 4, and R16: buckets of one rate pay as one, to the fraction of an event. They are
// of several sizes, by themselves and in All beside a part that never denies. A grant with nothing
// but denials behind it is given back, as far as it is not paid.
func TestR15_BucketsOfOneRatePayAsOne(t *testing.T) {
	for seed := range uint64(runs.Long(1000, 40)) {
		r := rand.New(rand.NewPCG(seed, 15))
		limit, per := 1+r.IntN(10), int64(1+r.IntN(100))
		queue := r.IntN(3) == 0
		bucket := func() weir.Policy {
			if size := 1 + r.IntN(20); queue {
				return weir.LeakyBucket{Limit: limit, Per: time.Duration(per), Capacity: size}
			} else {
				return weir.TokenBucket{Limit: limit, Per: time.Duration(per), Burst: size}
			}
		}
		span := time.Duration(1 + r.Int64N(4*per))
		beside := []weir.Policy{
			weir.FixedWindow{Limit: 1 << 30, Per: span, FromFirst: true},
			weir.SlidingLog{Limit: 1 << 30, Per: span},
		}
		plain := []weir.Policy{bucket(), bucket()}
		all := append(plain, weir.All(bucket(), beside[0]), weir.All(beside[1], weir.All(bucket())))
		k, now := kit.LedgerKey{T: t}, kit.T0
		rate, cost := big.NewInt(int64(limit)), big.NewInt(per) // of time, and of an event
		paidAt := new(big.Int)
		owed := func() *big.Int {
			o := new(big.Int).Mul(big.NewInt(now), rate)
			if o.Sub(paidAt, o).Sign() < 0 {
				return new(big.Int)
			}
			return o
		}
		owes := func(o *big.Int) { paidAt.Mul(big.NewInt(now), rate).Add(paidAt, o) }
		for range 30 {
			now += r.Int64N(2 * per)
			p, n := all[r.IntN(len(all))], 1+r.IntN(6)
			var charges []weir.Charge
			if at := now; k.Ask(p, now, weir.Ask{N: n, Charges: &charges}).Allowed {
				events := new(big.Int).Mul(cost, big.NewInt(int64(n)))
				owes(new(big.Int).Add(owed(), events))
				if r.IntN(2) == 0 {
					require.False(t, k.Ask(all[r.IntN(len(all))], now, weir.Ask{N: math.MaxInt32}).Allowed)
					now += r.Int64N(per)
					k.Ask(p, now, weir.Ask{N: -n, GrantedAt: at, Charges: &charges})
					if o := owed(); o.Cmp(events) > 0 {
						owes(o.Sub(o, events))
					} else {
						owes(new(big.Int))
					}
				}
			}
			for _, p := range plain {
				a, o := k.Ask(p, now, weir.Ask{}), owed()
				want := 0
				switch full := new(big.Int).Mul(cost, big.NewInt(int64(a.Limit))); {
				case queue && o.Sign() == 0:
					want = a.Limit
				case !queue && full.Cmp(o) > 0:
					want = int(full.Sub(full, o).Div(full, cost).Int64())
				}
				require.Equal(t, want, a.Remaining, "seed %d: %v at %d", seed, p, now)
			}
		}
	}
}
