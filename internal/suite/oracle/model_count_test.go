package oracle

import (
	"math/big"
	"time"

	"github.com/weir-go/weir"
)

// A countModel is one that grants events as long as they fit with those that it counts.
type countModel interface {
	model
	bounds() tally
	counted(d uint64) *big.Int                  // after d nanoseconds, if nothing is added
	until(is func(d uint64) bool) time.Duration // the least d at which is holds; that it holds is for good
	add(n int) countModel
	giveBack(n *big.Int, grantedAt int64) countModel
}

// A tally is what all count models have.
type tally struct {
	limit int
	most  *big.Int // a count, in debt, that stands for all from it on, and that nothing lowers
}

func (t tally) bounds() tally { return t }

// plus is count and n more.
func (t tally) plus(count *big.Int, n int) *big.Int {
	sum := new(big.Int).Add(count, big.NewInt(int64(n)))
	if sum.Cmp(t.most) > 0 {
		return t.most
	}
	return sum
}

// minus is count without up to n, and what is left of n.
func (t tally) minus(count, n *big.Int) (less, rest *big.Int) {
	if count.Cmp(t.most) == 0 {
		return count, n
	}
	back := count
	if n.Cmp(count) < 0 {
		back = n
	}
	return new(big.Int).Sub(count, back), new(big.Int).Sub(n, back)
}

// room is how many events fit with those counted.
func (t tally) room(counted *big.Int) int {
	left := new(big.Int).Sub(big.NewInt(int64(t.limit)), counted)
	if left.Sign() < 0 {
		return 0
	}
	return int(left.Int64())
}

// askCounting answers ask by what c counts now.
func askCounting(c countModel, ask weir.Ask) (weir.Answer, model) {
	limit := c.bounds().limit
	room := func(d uint64) int { return c.bounds().room(c.counted(d)) }
	n, granted, denied := ask.N, 0, false
	switch {
	case ask.N < 0:
		c = c.giveBack(new(big.Int).Neg(big.NewInt(int64(ask.N))), ask.GrantedAt)
	case ask.N == 0:
	case ask.Mode == weir.Regardless:
		c = c.add(n)
	case ask.Mode == weir.UpTo && room(0) == 0:
		n, denied = 1, true
	case ask.Mode == weir.UpTo:
		granted = min(n, room(0))
		c = c.add(granted)
	case n > room(0):
		denied = true
	default:
		c = c.add(n)
	}
	a := weir.Answer{Granted: granted, Result: weir.Result{
		Allowed:    !denied,
		Limit:      limit,
		Remaining:  room(0),
		ResetAfter: c.until(func(d uint64) bool { return c.counted(d).Sign() == 0 }),
	}}
	switch {
	case !denied:
	case n > limit:
		a.RetryAfter = weir.Never
	default:
		a.RetryAfter = c.until(func(d uint64) bool { return n <= room(d) })
	}
	return a, c
}
