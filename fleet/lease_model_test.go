package fleet_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A lasting is a TokenBucket that does not tell that it earns again what is held.
type lasting struct{ weir.TokenBucket }

type lastingDecider struct{ weir.Holder }

func (p lasting) Decider() (weir.Decider, error) {
	d, err := p.TokenBucket.Decider()
	return lastingDecider{d.(weir.Holder)}, err
}

func (d lastingDecider) Hold(at int64, charges []weir.Charge) weir.Hold {
	h := d.Holder.Hold(at, charges)
	h.Most, h.Over = 0, 0
	return h
}

// A fleetModel sees all nodes. Nothing takes time in it, and time moves between the steps.
type fleetModel struct {
	clock  kit.MovingClock
	store  weir.MemStore
	plan   *weir.Plan
	leases []*fleet.LeaseStore
	rng    *rand.Rand
}

func newFleetModel(p weir.Policy, nodes int, seed uint64) *fleetModel {
	m := &fleetModel{rng: rand.New(rand.NewPCG(seed, 9))}
	m.clock.NS.Store(kit.T0 + m.rng.Int64N(1e9))
	m.plan = planOf(p, weir.WithClock(&m.clock))
	for range nodes {
		m.leases = append(m.leases, fleet.Lease(&m.store, fleet.LeaseOptions{}))
	}
	return m
}

// step lets a node ask, and returns how many events there are in the store and with all nodes.
func (m *fleetModel) step(t *testing.T, pause time.Duration) (all int) {
	ctx := context.Background()
	m.clock.NS.Add(m.rng.Int64N(int64(pause)))
	if m.rng.IntN(200) == 0 { // nobody asks for a while
		m.clock.NS.Add(m.rng.Int64N(int64(300 * pause)))
	}
	if m.rng.IntN(500) == 0 { // a node dies, or asks for nothing any more, and another takes its place
		m.leases[m.rng.IntN(len(m.leases))] = fleet.Lease(&m.store, fleet.LeaseOptions{})
	}
	lease := m.leases[int(float64(len(m.leases))*m.rng.Float64()*m.rng.Float64())]
	n, before := 1+m.rng.IntN(2)*m.rng.IntN(2)*m.rng.IntN(20), m.all(t)
	r, ok := lease.TakeQuickly(m.plan, "k", n)
	if !ok {
		a, err := lease.Do(ctx, weir.Request{Plan: m.plan, Key: "k", Ask: weir.Ask{N: n}})
		if err != nil {
			require.NoError(t, err)
		}
		r = a.Result
	}
	if all = m.all(t); r.Allowed && all > before-n {
		require.LessOrEqual(t, all, before-n, "what is granted is not there any more")
	}
	return all
}

// all is how many events there are now in the store and with all nodes.
func (m *fleetModel) all(t *testing.T) (all int) {
	look, err := m.store.Do(context.Background(), weir.Request{Plan: m.plan, Key: "k"})
	if err != nil {
		require.NoError(t, err)
	}
	all = look.Remaining
	for _, lease := range m.leases {
		all += lease.Held(m.plan, "k")
	}
	return all
}

// At every instant the bucket and the nodes together have no more than a full bucket.
func TestLease_BucketAndLeasesAreNoMoreThanABucket(t *testing.T) {
	for _, p := range []weir.TokenBucket{
		{Limit: 1000, Per: time.Second},
		{Limit: 700, Per: time.Second, Burst: 300},
		{Limit: 5000, Per: time.Minute},
		{Limit: 100, Per: time.Second, Burst: 1000},
	} {
		for _, load := range []float64{0.3, 1, 4} {
			t.Run(fmt.Sprint(p, " ", load), func(t *testing.T) {
				for seed := range uint64(runs.Long(40, 2)) {
					m, held := newFleetModel(p, 1+int(seed%8), seed), 0
					pause := time.Duration(2 * float64(p.Per) / float64(p.Limit) / load * 3)
					for step := range 5000 {
						if all, full := m.step(t, pause), cmp.Or(p.Burst, p.Limit); all > full {
							require.LessOrEqual(t, all, full, "seed %d, step %d", seed, step)
						}
						held += m.leases[0].Held(m.plan, "k")
					}
					require.True(t, held > 0 || load < 1)
				}
			})
		}
	}
}

// The test above would find events that are not earned again.
func TestLease_EventsThatLastGoOver(t *testing.T) {
	p := lasting{weir.TokenBucket{Limit: 1000, Per: time.Second}}
	for seed := range uint64(20) {
		m := newFleetModel(p, 5, seed)
		for range 5000 {
			if m.step(t, 2*time.Millisecond) > p.Limit {
				return
			}
		}
	}
	t.Fatal("nothing went over")
}
