package edge

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A call through a Gate, as it came and as it went. The instants are told from the start of the
// test.
type call struct {
	came, deadline, cancelled time.Duration // the latter two are zero if there is none
	held                      bool          // in a hold
	left                      time.Duration
	err                       error
}

// Calls with deadlines and cancels, of a key that is held back and released, at random:
//
//   - No call passes while the key is held back.
//   - Calls that were held back pass in the order in which they came, and before all later ones.
//   - What passes keeps to the policy.
//   - The others end when their context does, or before, and the error says why.
//   - Nothing is left of any of them.
func TestGate_RandomCalls(t *testing.T) {
	for seed := range runs.Long[uint64](5000, 500) {
		synctest.Test(t, func(t *testing.T) { randomCalls(t, seed) })
	}
}

func randomCalls(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	millis := func(most int) time.Duration { return time.Duration(1+r.IntN(most)) * time.Millisecond }
	policy := []weir.Policy{
		weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 1 + r.IntN(4)},
		weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 1 + r.IntN(8)},
		weir.SlidingLog{Limit: 3, Per: time.Second},
	}[r.IntN(3)]
	l := weir.Must(weir.New(policy))
	var g Gate
	var calls []*call
	var held time.Duration // until when
	var wg sync.WaitGroup
	begin := time.Now()
	for range 5 + r.IntN(40) {
		now := time.Since(begin)
		switch r.IntN(8) {
		case 0, 1:
			after, longest := millis(3000), millis(3000)
			held = max(held, now+min(after, longest))
			for _, c := range calls { // some of them may end in this moment, because it is too late for them now
				c.held = c.held || c.left == 0
			}
			g.Hold("k", after, longest, 0)
			require.Equal(t, held, g.HeldUntil("k").Sub(begin), "seed %d", seed)
		case 2:
			g.Release("k")
			held = now
		case 3:
			time.Sleep(millis(900))
		default:
			c := &call{came: now, held: now < held}
			calls = append(calls, c)
			ctx, cancel := context.WithCancel(context.Background())
			switch r.IntN(3) {
			case 0:
				c.deadline = now + millis(3000)
				ctx, cancel = context.WithDeadline(ctx, begin.Add(c.deadline))
			case 1:
				c.cancelled = now + millis(3000)
				time.AfterFunc(c.cancelled-now, cancel)
			}
			wg.Go(func() {
				defer cancel()
				c.err = g.Pass(ctx, l, "k")
				c.left = time.Since(begin)
				if c.err == nil && g.held.left("k") > 0 {
					t.Errorf("seed %d: %+v has passed, %v before the end of the hold", seed, c, g.held.left("k"))
				}
			})
		}
		synctest.Wait()
	}
	wg.Wait()
	require.Empty(t, g.lines.byKey, "seed %d", seed)
	checkCalls(t, seed, calls)
	var passed []time.Duration
	for _, c := range calls {
		if c.err == nil {
			passed = append(passed, c.left)
		}
	}
	slices.Sort(passed)
	for i, last := range passed {
		for j, first := range passed[:i] {
			if n := i - j + 1; last-first < shortest(policy, n) {
				t.Errorf("seed %d: %v lets %d pass from %v to %v", seed, policy, n, first, last)
			}
		}
	}
}

// shortest is the time in which one of the policies above lets n calls pass, from the first to the
// last.
func shortest(p weir.Policy, n int) time.Duration {
	switch p := p.(type) {
	case weir.TokenBucket:
		return time.Duration(n-p.Burst) * p.Per / time.Duration(p.Limit)
	case weir.LeakyBucket:
		return time.Duration(n-1) * p.Per / time.Duration(p.Limit)
	}
	log := p.(weir.SlidingLog)
	return time.Duration((n-1)/log.Limit) * log.Per
}

// checkCalls checks how each call has ended, and the order of those that passed.
func checkCalls(t *testing.T, seed uint64, calls []*call) {
	var last, lastHeld time.Duration // when the last ones have passed
	for _, c := range calls {
		if c.err == nil {
			if c.left < lastHeld || c.held && c.left < last {
				t.Errorf("seed %d: %+v has passed before an earlier one, at %v or %v", seed, c, lastHeld, last)
			}
			last = max(last, c.left)
			if c.held {
				lastHeld = max(lastHeld, c.left)
			}
		}
		var ok bool
		switch {
		case c.err == nil:
			ok = c.deadline == 0 || c.left <= c.deadline
		case errors.Is(c.err, weir.ErrTooLate):
			ok = c.left <= c.deadline
		case errors.Is(c.err, context.DeadlineExceeded):
			ok = c.left == c.deadline
		case errors.Is(c.err, context.Canceled):
			ok = c.left == c.cancelled
		default:
			ok = errors.Is(c.err, weir.ErrQueueFull)
		}
		if !ok {
			t.Errorf("seed %d: %+v", seed, c)
		}
	}
}

// The memory of a key may be used again when its call has passed, while others wait behind it.
func TestGate_KeyInMemoryOfTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		l := weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: time.Second}))
		require.True(t, l.Allow("ada"))
		memory := []byte("ada")
		var wg sync.WaitGroup
		wg.Go(func() {
			require.NoError(t, g.Pass(t.Context(), l, unsafe.String(unsafe.SliceData(memory), len(memory))))
			copy(memory, "bob")
		})
		synctest.Wait()
		g.Hold("ada", time.Second, 0, 0) // the next one waits for this one
		wg.Go(func() { require.NoError(t, g.Pass(t.Context(), l, "ada")) })
		wg.Wait()
		require.Empty(t, g.lines.byKey)
	})
}

// A slow limiter takes a second to give back the place of a call that no longer waits.
type slow struct{ weir.Limiter }

func (slow) Wait(ctx context.Context, _ string, _ int) error {
	<-ctx.Done()
	time.Sleep(time.Second)
	return ctx.Err()
}

// A call fails with the error of its context, also if that ends while the call gives up its place
// because of a hold.
func TestGate_DeadlineAsAHoldBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		time.AfterFunc(time.Second, func() { g.Hold("k", time.Millisecond, 0, 0) })
		require.ErrorIs(t, g.Pass(ctx, slow{}, "k"), context.DeadlineExceeded)
	})
}
