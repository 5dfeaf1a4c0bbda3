package fleet_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A world is a server, and nodes that share a key of a policy there.
type world struct {
	*testing.T
	policy weir.Policy
	server weir.MemStore
	plan   *weir.Plan // of the server, whose clock decides
	nodes  []*node
	trip   time.Duration // there and back, on average
	lost   float64       // the share of requests, and of replies, that get lost
	warm   time.Time     // calls are counted from then on

	mu      sync.Mutex // guards what follows
	rng     *rand.Rand
	calls   int
	ends    []int64 // when the windows ended that the server counted in; see FromFirst
	asked   []use   // by all nodes
	granted []use
}

// A use is events at an instant.
type use struct {
	at int64
	n  int
}

// fromServer is the key of a context for a *use: what the server has granted to an UpTo.
type fromServer struct{}

// A node is a process.
type node struct {
	*world
	lease *fleet.LeaseStore
	clock nodeClock
	plan  *weir.Plan
	dead  atomic.Bool
	until atomic.Int64 // it stands still before
	rng   *rand.Rand   // of its requests
}

// A nodeClock is off by a constant, and runs a little faster or slower than the server's.
type nodeClock struct {
	start  time.Time
	offset time.Duration
	drift  float64
}

func (c *nodeClock) Now() time.Time {
	passed := time.Since(c.start)
	return c.start.Add(c.offset + passed + time.Duration(c.drift*float64(passed)))
}

func (c *nodeClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// planOf is the plan of a limiter, for requests that no limiter makes.
func planOf(p weir.Policy, opts ...weir.Option) (plan *weir.Plan) {
	spy := kit.StoreFunc(func(_ context.Context, r weir.Request) (weir.Answer, error) {
		plan = r.Plan
		return weir.Answer{}, nil
	})
	weir.Must(weir.New(p, append(opts, weir.WithStore(spy))...)).Allow("")
	return plan
}

// newWorld makes a world in a testing/synctest bubble.
func newWorld(t *testing.T, p weir.Policy, nodes int, seed uint64) *world {
	w := &world{T: t, policy: p, rng: rand.New(rand.NewPCG(seed, 7)), plan: planOf(p), trip: 500 * time.Microsecond}
	for i := range nodes {
		n := &node{world: w, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
		n.clock = nodeClock{time.Now(), time.Duration(n.rng.Int64N(int64(time.Hour))), (n.rng.Float64() - 0.5) * 1e-3}
		n.plan = planOf(p, weir.WithClock(&n.clock))
		n.lease = fleet.Lease(kit.StoreFunc(n.call), fleet.LeaseOptions{})
		w.nodes = append(w.nodes, n)
	}
	return w
}

var errLost = errors.New("lost on the way")

// call is a call of the server.
func (n *node) call(ctx context.Context, r weir.Request) (weir.Answer, error) {
	w := n.world
	n.standStill()
	if w.travel() {
		return weir.Answer{}, errLost
	}
	r.Plan = w.plan
	w.mu.Lock()
	if !time.Now().Before(w.warm) {
		w.calls++
	}
	w.mu.Unlock()
	a, err := w.server.Do(ctx, r)
	a.ServerTime = true
	if r.N > 0 && a.Allowed {
		w.mu.Lock()
		w.ends = append(w.ends, a.At+int64(a.ResetAfter))
		w.mu.Unlock()
	}
	lost := w.travel()
	n.standStill()
	if lost {
		return weir.Answer{}, errLost
	}
	if p, ok := ctx.Value(fromServer{}).(*use); ok {
		*p = use{a.At, a.Granted}
	}
	return a, err
}

// standStill returns when the node goes on.
func (n *node) standStill() {
	for {
		left := time.Duration(n.until.Load() - time.Now().UnixNano())
		if left <= 0 {
			return
		}
		time.Sleep(left)
	}
}

// travel takes half of a trip, more or less. It reports whether what travelled got lost.
func (w *world) travel() (lost bool) {
	w.mu.Lock()
	takes := time.Duration(w.rng.ExpFloat64() * float64(w.trip) / 2)
	lost = w.rng.Float64() < w.lost
	w.mu.Unlock()
	time.Sleep(takes)
	return lost
}

// note adds events, if any, to those of a list, at an instant.
func (w *world) note(list *[]use, at int64, n int) {
	if n == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, use{at, n})
}

// quickly asks the lease alone, as a limiter does first, for all or none. It reports whether the lease
// has decided.
func (n *node) quickly(events int, mode weir.GrantMode) bool {
	if mode != weir.AllOrNone {
		return false
	}
	r, ok := n.lease.TakeQuickly(n.plan, "k", events)
	switch w := n.world; {
	case !ok:
	case r.Allowed:
		w.note(&w.granted, time.Now().UnixNano(), events)
	case r.RetryAfter <= 0 || r.Remaining >= events:
		w.Errorf("%+v", r)
	}
	return ok
}

// ask asks for n events, as a limiter then does.
func (n *node) ask(events int, mode weir.GrantMode) {
	w := n.world
	ask := weir.Ask{N: events, Mode: mode}
	var server use
	ctx := context.WithValue(context.Background(), fromServer{}, &server)
	a, err := n.lease.Do(ctx, weir.Request{Plan: n.plan, Key: "k", Ask: ask})
	if err != nil {
		require.ErrorIs(w, err, errLost)
		return
	}
	at := time.Now().UnixNano()
	switch {
	case !a.Allowed:
		if a.RetryAfter <= 0 || mode == weir.AllOrNone && a.Remaining >= events {
			w.Errorf("%+v", a)
		}
	case mode == weir.UpTo: // what was held is taken when the server has answered
		w.note(&w.granted, server.at, server.n)
		w.note(&w.granted, at, a.Granted-server.n)
	case a.ServerTime:
		w.note(&w.granted, a.At, events)
	default:
		w.note(&w.granted, at, events)
	}
}

// run lets each node ask at random instants, at its share of a rate, which may change. Each request
// is for up to several events. If that is more than one, some take as many as there are.
func (w *world) run(lasts time.Duration, several int, rate func(node int, passed time.Duration) float64) {
	var all sync.WaitGroup
	start := time.Now()
	for i, n := range w.nodes {
		all.Go(func() {
			for !n.dead.Load() {
				passed := time.Since(start)
				if passed >= lasts {
					return
				}
				perSec := rate(i, passed) / float64(several+1) * 2
				next := time.Duration(n.rng.ExpFloat64() / max(perSec, 1e-9) * float64(time.Second))
				if next > 10*time.Millisecond { // the rate may change meanwhile
					time.Sleep(10 * time.Millisecond)
					continue
				}
				time.Sleep(next)
				n.standStill()
				events := 1 + n.rng.IntN(several)
				mode := weir.AllOrNone
				if several > 1 && n.rng.IntN(5) == 0 {
					mode = weir.UpTo
				}
				w.note(&w.asked, time.Now().UnixNano(), events)
				if !n.quickly(events, mode) {
					all.Go(func() { n.ask(events, mode) })
				}
			}
		})
	}
	all.Wait()
	for _, n := range w.nodes { // the dead, too, so that no goroutine is left
		require.NoError(w, n.lease.Release(context.Background()))
	}
}

// over returns how many of the uses the policy alone would not have granted.
func (w *world) over() (over int) {
	slices.SortStableFunc(w.granted, byTime)
	if p, ok := w.policy.(weir.FixedWindow); ok && p.FromFirst {
		return w.overFromFirst(p)
	}
	state := make([]uint64, w.plan.Decider.Words())
	for _, u := range w.granted {
		var a weir.Answer
		state, a = w.plan.Decider.Decide(state, u.at, weir.Ask{N: u.n})
		if !a.Allowed {
			over += u.n
		}
	}
	return over
}

// overFromFirst counts by the windows that the server had. They start with the first event that it
// counted, which may have been used later.
func (w *world) overFromFirst(p weir.FixedWindow) (over int) {
	slices.Sort(w.ends)
	w.ends = slices.Compact(w.ends)
	used := map[int64]int{}
	for _, u := range w.granted {
		i, _ := slices.BinarySearch(w.ends, u.at+1)
		require.Less(w, i, len(w.ends))
		require.GreaterOrEqual(w, u.at, w.ends[i]-int64(p.Per), "used in no window")
		used[w.ends[i]] += u.n
	}
	for _, n := range used {
		over += max(n-p.Limit, 0)
	}
	return over
}

func byTime(a, b use) int { return cmp.Compare(a.at, b.at) }

// ideal returns how many events one store would have granted that all ask, and that takes no time.
func (w *world) ideal() (n int) {
	slices.SortStableFunc(w.asked, byTime)
	state := make([]uint64, w.plan.Decider.Words())
	for _, u := range w.asked {
		var a weir.Answer
		state, a = w.plan.Decider.Decide(state, u.at, weir.Ask{N: u.n})
		if a.Allowed {
			n += u.n
		}
	}
	return n
}

func sum(uses []use) (n int) {
	for _, u := range uses {
		n += u.n
	}
	return n
}
