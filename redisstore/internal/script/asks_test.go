package script

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// pause is how long the next step comes later, in microseconds; now and then it comes earlier.
func (d *drive) pause(a weir.Answer) int64 {
	reset := min(int64(a.ResetAfter/time.Microsecond), 1<<40)
	switch d.random.IntN(20) {
	case 0, 1, 2:
		return 1
	case 3, 4:
		return d.random.Int64N(reset/5 + 2)
	case 5:
		return d.random.Int64N(reset + 2)
	case 6:
		return reset
	case 7:
		if d.random.IntN(4) == 0 {
			return 2 * reset
		}
		return max(reset-1, 0)
	case 8:
		return -d.random.Int64N(min(reset/4, 1<<20) + 2)
	default:
		return 0
	}
}

func (d *drive) ask(k int, look weir.Answer) weir.Ask {
	ask := weir.Ask{N: 1}
	few := min(look.Limit, 12)
	switch d.random.IntN(20) {
	case 0:
		return weir.Ask{}
	case 1, 2, 3:
		if n := len(d.grants[k]); n > 0 {
			i := n - 1 - d.random.IntN(min(n, 8))
			g := d.grants[k][i]
			d.grants[k] = slices.Delete(d.grants[k], i, i+1)
			return d.giveBack(g)
		}
	case 4:
		ask.N = look.Limit + 1
	case 5:
		ask.N = max(look.Remaining, 1)
	case 6:
		ask.N = look.Remaining + 1
	case 7, 8, 9:
		ask.N = 1 + d.random.IntN(few)
	case 10:
		ask.N = math.MaxInt
	}
	switch d.random.IntN(10) {
	case 0:
		ask.Mode = weir.Regardless
		ask.N = min(ask.N, 1+d.random.IntN(few))
	case 1, 2:
		ask.Mode = weir.UpTo
	case 3:
		ask.MaxWait = weir.Never
	case 4, 5:
		ask.MaxWait = time.Duration(d.random.Int64N(int64(max(look.ResetAfter, 1)) + 1000))
	}
	return ask
}

// giveBack returns an ask that gives events of a grant back. It knows the grant or not, and what the
// grant was charged or not.
func (d *drive) giveBack(g grant) weir.Ask {
	ask := weir.Ask{N: -g.n}
	if d.random.IntN(5) == 0 {
		ask.N = -1 - d.random.IntN(g.n+2)
	}
	if d.random.IntN(3) == 0 {
		return ask
	}
	ask.GrantedAt = g.at
	if d.random.IntN(10) == 0 {
		ask.GrantedAt += 1 + d.random.Int64N(micro-1) // no instant of the server's
	}
	if len(g.charges) == 0 || d.random.IntN(5) == 0 {
		return ask
	}
	charges := slices.Clone(g.charges)
	b, isBucket := d.plan.codec.(bucket)
	switch c := &charges[0]; d.random.IntN(12) {
	case 0:
		charges = append(charges, *c) // of a policy that has two
	case 1:
		c.Late++
	case 2:
		c.For++ // no instant of the script's
	case 3, 4, 5: // of a waiter that moved up
		units, up := uint64(c.For)*b.nsDen-c.ForRest, uint64(1+d.random.IntN(3))*b.each*b.scale
		if isBucket && units > up {
			c.For = time.Duration((units - up + b.nsDen - 1) / b.nsDen)
			c.ForRest = uint64(c.For)*b.nsDen - (units - up)
		}
	case 6, 7, 8: // of a waiter before others
		before := d.before
		before.N, before.GrantedAt = ask.N, ask.GrantedAt
		ask = before
	}
	ask.Charges = &charges
	return ask
}

// backBeforeWaiters returns a give-back of a waiter's event. Two other waiters have booked an event
// behind it. What the ask says of them can be said of any grant.
func backBeforeWaiters(t *testing.T, p weir.Policy) (back weir.Ask) {
	synctest.Test(t, func(t *testing.T) {
		store := new(givenBack)
		l, err := weir.New(p, weir.WithStore(store))
		require.NoError(t, err)
		require.True(t, l.Allow("k")) // all that a queue grants at once
		_, _, err = l.TakeUpTo(t.Context(), "k", math.MaxInt)
		require.NoError(t, err)
		var waiters sync.WaitGroup
		var cancels [3]context.CancelFunc
		for i := range cancels {
			ctx, cancel := context.WithCancel(t.Context())
			cancels[i] = cancel
			waiters.Go(func() { assert.ErrorIs(t, l.Wait(ctx, "k", 1), context.Canceled) })
			synctest.Wait()
		}
		cancels[0]()
		synctest.Wait()
		back = store.last
		require.Equal(t, -1, back.N)
		cancels[1]()
		cancels[2]()
		waiters.Wait()
	})
	return back
}

// A givenBack is a store that notes what was given back last.
type givenBack struct {
	weir.MemStore
	last weir.Ask
}

func (s *givenBack) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if r.N < 0 {
		s.last = r.Ask
	}
	return s.MemStore.Do(ctx, r)
}
