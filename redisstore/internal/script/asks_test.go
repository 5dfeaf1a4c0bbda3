package script

import (
	"math"
	"slices"
	"time"

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
			ask = weir.Ask{N: -g.n}
			if d.random.IntN(2) == 0 {
				ask.GrantedAt = g.at
				if d.random.IntN(10) == 0 {
					ask.GrantedAt += 1 + d.random.Int64N(micro-1) // no instant of the server's
				}
			}
			return ask
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
