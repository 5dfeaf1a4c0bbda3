package lincheck

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weir-go/weir"
)

// A clock moves when it is told to. It may be read while it moves.
type clock struct{ now atomic.Int64 }

// start is where the clock stands at first.
const start = int64(1_700_006_400_000 * time.Millisecond)

func newClock() *clock {
	c := &clock{}
	c.now.Store(start)
	return c
}

// Now lets others go on after it has read the time, so that they come between the store's reading
// and its writing where they can.
func (c *clock) Now() time.Time {
	now := c.now.Load()
	runtime.Gosched()
	return time.Unix(0, now)
}

// After implements weir.Clock. No one waits here.
func (c *clock) After(time.Duration) <-chan time.Time { return nil }

// A recording is of callers who take at the same time from a few keys.
type recording struct {
	policy     weir.Policy
	store      weir.Store
	goroutines int
	takes      int // of each of them
	keys       []string
	frozen     bool // time moves between rounds of takes only, and not during any

	clock   *clock
	limiter *weir.KeyedLimiter
	stamp   atomic.Int64 // orders the calls and their returns
}

func (r *recording) run() ([]porcupine.Operation, error) {
	r.clock = newClock()
	limiter, err := weir.New(r.policy, weir.WithStore(r.store), weir.WithClock(r.clock))
	if err != nil {
		return nil, err
	}
	r.limiter = limiter
	// Between rounds all calls have returned, so that the checker need not look far for an order.
	const perRound = 20
	var all []porcupine.Operation
	pause := rand.New(rand.NewPCG(3, 4))
	for done := 0; done < r.takes; done += perRound {
		ops, err := r.round(done, perRound)
		if err != nil {
			return nil, err
		}
		all = append(all, ops...)
		r.clock.now.Add(tick * pause.Int64N(20))
	}
	return all, nil
}

// round lets every goroutine take n times.
func (r *recording) round(seed, n int) ([]porcupine.Operation, error) {
	var (
		ready, done sync.WaitGroup
		ops         = make([][]porcupine.Operation, r.goroutines)
		errs        = make([]error, r.goroutines)
	)
	ready.Add(r.goroutines)
	for g := range r.goroutines {
		done.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), uint64(seed)))
			ready.Done()
			ready.Wait()
			for range n {
				op, err := r.take(g, random)
				if err != nil {
					errs[g] = err
					return
				}
				ops[g] = append(ops[g], op)
				if g == 0 && !r.frozen {
					r.clock.now.Add(tick * random.Int64N(3))
				}
			}
		})
	}
	done.Wait()
	var all []porcupine.Operation
	for g := range ops {
		if errs[g] != nil {
			return nil, errs[g]
		}
		all = append(all, ops[g]...)
	}
	return all, nil
}

// take makes one call, of Take for 0 to 3 events or of Allow, for one of the keys.
func (r *recording) take(g int, random *rand.Rand) (porcupine.Operation, error) {
	in := ask{key: r.keys[random.IntN(len(r.keys))], n: random.IntN(4), from: r.clock.now.Load()}
	in.allow = in.n == 1 && random.IntN(2) == 0
	call := r.stamp.Add(1)
	var out weir.Result
	var err error
	if in.allow {
		out.Allowed = r.limiter.Allow(in.key)
	} else {
		out, err = r.limiter.Take(context.Background(), in.key, in.n)
	}
	back := r.stamp.Add(1)
	in.to = r.clock.now.Load()
	return porcupine.Operation{ClientId: g, Input: in, Call: call, Output: out, Return: back}, err
}
