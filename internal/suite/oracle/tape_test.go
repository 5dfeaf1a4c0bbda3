package oracle

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir"
)

const (
	year        = 365 * 24 * time.Hour
	fiveBillion = min(5_000_000_000, math.MaxInt) // more than one a nanosecond, where an int holds it
)

// A tape is the bytes of a fuzz target, read as choices. At its end it reads as zeros.
type tape struct{ rest []byte }

func (tp *tape) byte() byte {
	if len(tp.rest) == 0 {
		return 0
	}
	b := tp.rest[0]
	tp.rest = tp.rest[1:]
	return b
}

func (tp *tape) uint64() uint64 {
	var b [8]byte
	tp.rest = tp.rest[copy(b[:], tp.rest):]
	return binary.LittleEndian.Uint64(b[:])
}

// below is a number from 0 to n-1, and 0 if n is not above zero.
func (tp *tape) below(n int64) int64 {
	if n < 1 {
		return 0
	}
	return int64(tp.uint64() % uint64(n))
}

// any is a number from 1 to limit, of any number of bits.
func (tp *tape) any(limit int64) int64 {
	size := 1 + int(tp.byte())%bits.Len64(uint64(limit))
	return max(1, min(limit, int64(tp.uint64()>>(64-size)&math.MaxInt64)))
}

func pick[T any](tp *tape, from ...T) T { return from[int(tp.byte())%len(from)] }

// rate is a limit and its Per, from 1 a year to 5e9 a second and to the ends of both.
func (tp *tape) rate() (int, time.Duration) {
	limit := pick(tp, 1, 2, 3, 5, 7, 10, 97, 100, 1000, 1<<20-1, 600_000_000, fiveBillion,
		math.MaxInt, int(tp.any(1000)), int(tp.any(fiveBillion)), int(tp.any(math.MaxInt)))
	per := pick(tp, 1, 2, 3, 7, 1000, time.Millisecond, time.Second, time.Second, time.Second+1, time.Minute,
		time.Hour, 24*time.Hour, year, math.MaxInt64, time.Duration(tp.any(int64(year))), time.Duration(tp.any(math.MaxInt64)))
	return limit, per
}

// size is a Burst or a Capacity.
func (tp *tape) size(limit int) int {
	return pick(tp, 0, 0, 1, 2, limit, limit/2+1, limit-1, int(min(saturated(int64(limit), int64(limit)), math.MaxInt)), math.MaxInt, int(tp.any(math.MaxInt)))
}

// A course is the choices of a trial that depend on the policy and on the last answer.
type course struct {
	*tape
	limit int
	width int64 // of a window or sub-window, or Per
	event int64 // the time of an event, rounded down
	last  weir.Answer

	grants []grant
}

// A grant is how many events were granted at an instant, and what they were charged, if that was
// asked.
type grant struct {
	n       int
	at      int64
	charges []weir.Charge
}

// origin is the instant at which a trial starts.
func (c *course) origin() int64 {
	return pick(c.tape, 0, 1, 1_790_000_000_123_456_789, 1_790_000_000_000_000_000,
		lastSecond-c.any(math.MaxInt64/4), c.below(math.MaxInt64))
}

// at is the instant of the next ask after one at now; at times before it.
func (c *course) at(now int64) int64 {
	edge := c.width - now%c.width
	off := pick[int64](c.tape, 0, 0, -1, 1)
	later := pick(c.tape, 0, 0, 1, c.event, c.event*2, c.event+1, edge, edge, saturated(edge, c.width),
		int64(c.last.RetryAfter), int64(c.last.RetryAfter), int64(c.last.ResetAfter), c.width/2,
		c.below(c.width), c.below(c.event), int64(c.byte())*int64(year))
	now = saturated(now, max(saturated(later, off), 0))
	if c.byte()%16 == 0 {
		return max(now-pick(c.tape, 1, c.event, c.width, int64(year)), 0)
	}
	return now
}

// ask is what is asked for next.
func (c *course) ask() weir.Ask {
	room, limit := c.last.Remaining, c.limit
	some := int(c.any(int64(limit)))
	ask := weir.Ask{N: pick(c.tape, 1, 1, 1, 1, 2, 3, int(c.byte()), room, room, room-room/3, int(saturated(int64(room), 1)), limit,
		limit/2+1, some, some, 0, 0, int(saturated(int64(limit), 1)), math.MaxInt, -1, -2, -some, -limit, math.MinInt)}
	switch c.byte() % 8 {
	case 0, 1:
		ask.MaxWait = pick(c.tape, -1, 1, c.last.RetryAfter, max(c.last.RetryAfter, 1)-1, c.last.Delay, time.Duration(c.event),
			time.Duration(c.width), math.MaxInt64, time.Duration(c.any(math.MaxInt64)))
	case 2:
		ask.Mode = weir.UpTo
	case 3: // mostly so little that it is paid for soon
		ask.Mode = weir.Regardless
		ask.N = pick(c.tape, ask.N, 1, 2, int(c.byte()), limit, int(saturated(int64(limit), int64(some))), some)
	}
	switch {
	case ask.N < 0:
		ask = c.back(ask.N)
	case ask.N > 0 && c.byte()%2 == 0:
		ask.Charges = new([]weir.Charge)
	}
	return ask
}

// back gives back events that were granted at some time, or that were never granted.
func (c *course) back(n int) weir.Ask {
	some := grant{n: n, at: pick(c.tape, 0, 1, c.below(math.MaxInt64), math.MaxInt64)}
	if len(c.grants) > 0 {
		some = c.grants[len(c.grants)-1-int(c.byte())%len(c.grants)] // which may have been given back already
		some.n = pick(c.tape, -some.n, -some.n, -some.n/2, -1, n)
		some.at = pick(c.tape, some.at, some.at, some.at, 0, 0, max(some.at-c.width, 0), saturated(some.at, c.width), saturated(some.at, 1))
	}
	ask := weir.Ask{N: some.n, GrantedAt: some.at}
	if some.charges != nil && c.byte()%8 > 0 {
		ask.Charges = &some.charges
	}
	return ask
}

// note remembers what the ask was granted.
func (c *course) note(now int64, ask weir.Ask, a weir.Answer) {
	n := ask.N
	if ask.Mode == weir.UpTo {
		n = a.Granted
	}
	if a.Allowed && n > 0 {
		g := grant{n: n, at: now}
		if ask.Charges != nil {
			g.charges = *ask.Charges
			if len(g.charges) == 0 { // as one that is not told is taken for
				g.charges = []weir.Charge{{N: n, For: a.ResetAfter}}
			}
		}
		c.grants = append(c.grants, g)
	}
	c.last = a
}

// saturated is a+b, at most the largest int. a is not negative.
func saturated(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
