package fleet_test

import (
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// No limit is exceeded. The policies, the number of nodes and their load are random, the network
// loses requests and replies, and nodes stand still and die.
//
// WEIR_MODEL_TIME says for how long to search. The second half of that time uses new seeds.
func TestTrials(t *testing.T) {
	search, err := time.ParseDuration(os.Getenv("WEIR_MODEL_TIME"))
	start, seeds := time.Now(), uint64(runs.Long(100, 6))
	granted := 0
	for seed := uint64(0); ; seed++ {
		if err != nil && seed == seeds || err == nil && time.Since(start) > search {
			t.Logf("%d trials, %d events, none over", seed, granted)
			return
		}
		number := seed
		if time.Since(start) > search/2 && err == nil {
			number += uint64(start.UnixNano())
		}
		n, failed := trial(t, number)
		granted += n
		require.False(t, failed, "seed %d", number)
	}
}

// A scenario is a trial that was drawn.
type scenario struct {
	policy  weir.Policy
	perSec  float64 // what the policy allows
	nodes   int
	times   float64 // of that is asked for
	several int
	lasts   time.Duration
	trip    time.Duration
	lost    float64
	moves   time.Duration // how often the load moves
	deaths  float64       // for each node and second
	stops   float64       // likewise
}

func draw(rng *rand.Rand) (s scenario) {
	s.policy, s.perSec = drawPolicy(rng)
	s.nodes = 1 + rng.IntN(12)
	if rng.IntN(8) == 0 {
		s.nodes = 64
	}
	s.times = math.Exp(rng.Float64()*4 - 1) // from 0.37 to 20
	s.several = 1 + rng.IntN(2)*rng.IntN(30)
	const events = 12_000
	s.lasts = time.Duration(min(events/(s.perSec*s.times), 60) * float64(time.Second))
	s.trip = time.Duration(rng.IntN(3)*rng.IntN(20)) * time.Millisecond / 4
	s.lost = float64(rng.IntN(2)) * rng.Float64() / 10
	s.moves = time.Duration(1+rng.IntN(2000)) * time.Millisecond
	if rng.IntN(2) == 0 {
		s.deaths, s.stops = rng.Float64()/2, rng.Float64()*2
	}
	return s
}

func drawPolicy(rng *rand.Rand) (weir.Policy, float64) {
	limit := int(100 * math.Exp(rng.Float64()*5)) // to 14,800
	per := time.Duration(math.Exp(rng.Float64()*5-2)*1e9) / 30 * 30
	perSec := float64(limit) / per.Seconds()
	bucket := weir.TokenBucket{Limit: limit, Per: per}
	switch rng.IntN(10) {
	case 0, 1:
		return bucket, perSec
	case 2:
		bucket.Burst = max(limit/(1+rng.IntN(10)), 100)
		return bucket, perSec
	case 3:
		bucket.Burst = limit * (1 + rng.IntN(3))
		return bucket, perSec
	case 4:
		return weir.FixedWindow{Limit: limit, Per: per}, perSec
	case 5:
		return weir.FixedWindow{Limit: limit, Per: per, FromFirst: true}, perSec
	case 6:
		return weir.SlidingWindow{Limit: limit, Per: per, Buckets: []int{1, 1, 2, 5, 10}[rng.IntN(5)]}, perSec
	case 7:
		return weir.CalendarWindow{Limit: limit, Unit: weir.Minute}, float64(limit) / 60
	case 8:
		return weir.All(bucket, weir.FixedWindow{Limit: 3 * limit, Per: 4 * per}), perSec * 3 / 4
	default:
		return weir.All(bucket, weir.FixedWindow{Limit: limit, Per: 2 * per},
			weir.All(weir.SlidingWindow{Limit: limit, Per: per, Buckets: 5})), perSec / 2
	}
}

// trial runs what a seed draws. It returns how many events were granted, and whether some went
// over.
func trial(t *testing.T, seed uint64) (granted int, failed bool) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := draw(rng)
		time.Sleep(time.Duration(rng.Int64N(int64(time.Minute))))
		w := newWorld(t, s.policy, s.nodes, seed)
		w.trip, w.lost = s.trip, s.lost
		var harm sync.WaitGroup
		harm.Go(func() { s.harm(w, rng) })
		w.run(s.lasts, s.several, func(node int, passed time.Duration) float64 {
			weight := rand.New(rand.NewPCG(seed, uint64(node)<<32|uint64(passed/s.moves))).Float64()
			return s.perSec * s.times * math.Pow(weight, 4) * 5 / float64(s.nodes) // the mean is 1
		})
		harm.Wait()
		granted = sum(w.granted)
		if over := w.over(); over > 0 {
			failed = true
			t.Errorf("seed %d: %d of %d events over, %d calls: %+v", seed, over, granted, w.calls, s)
		}
	})
	return granted, failed
}

// harm lets nodes stand still, and die.
func (s *scenario) harm(w *world, rng *rand.Rand) {
	const step = 10 * time.Millisecond
	for passed := time.Duration(0); passed < s.lasts; passed += step {
		time.Sleep(step)
		for _, n := range w.nodes {
			switch x := rng.Float64() / step.Seconds(); {
			case x < s.deaths:
				n.dead.Store(true)
			case x < s.deaths+s.stops:
				n.until.Store(time.Now().UnixNano() + int64(rng.ExpFloat64()*2e8))
			}
		}
	}
}

// A lease that has enough events grants them, also where the store has just granted fewer than it was
// asked for, and is not asked again at once. The answers are checked by the world.
func TestHeldEventsAreGranted(t *testing.T) {
	policy := weir.All(weir.FixedWindow{Limit: 500, Per: 10 * time.Second}, weir.TokenBucket{Limit: 1000, Per: time.Second})
	for _, several := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, policy, 1, 1)
			w.run(21*time.Second, several, func(int, time.Duration) float64 { return 400 })
			require.Zero(t, w.over())
		})
	}
}
