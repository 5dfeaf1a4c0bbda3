package script

import (
	"math"

	"github.com/weir-go/weir"
)

// A log is the codec of SlidingLog.
type log struct {
	per, limit uint64 // per is in nanoseconds
	size       int    // bytes of a slot
}

// maxSlots is how many events a value may hold. That many take 7 MB.
const maxSlots = 1 << 20

func newLog(p weir.SlidingLog) (log, bool) {
	l := log{per: uint64(p.Per), limit: uint64(p.Limit)}
	l.size = sizeOf(2*uint64(micros(l.per)) + 2)
	return l, l.limit <= maxSlots && micros(l.per) <= maxHalf
}

func (l log) ask(ask weir.Ask) (string, bool) {
	n, how, after, ok := countAsk(ask, l.limit)
	return format(l.size) + numbers(micros(l.per), int64(l.limit), int64(l.size), 1<<(8*l.size), n, how, after), ok
}

// seen builds a log that answers as the log in Redis does, and returns the ask for it. Only four
// things matter for the answer: how many events are in the window, the latest event, the event that
// has to leave before the ask is granted, and the oldest, which has to leave before more remain.
// The last two are the latest event if none has to leave.
//
// After giving back, the reply describes the log as it is then.
func (l log) seen(buf []uint64, reply reader, ask weir.Ask) ([]uint64, weir.Ask, bool) {
	count, latest, leaving := reply.uint(7), uint64(reply.micros())*micro, uint64(reply.micros())*micro
	oldest, state := uint64(reply.micros())*micro, append(buf, 0, 0)
	if ask.N < 0 {
		ask = weir.Ask{}
	} else if oldest < latest {
		n := uint64(ask.N)
		if ask.Mode == weir.UpTo {
			n = 1
		}
		first := uint64(1) // if it is granted, or never fits
		if n <= l.limit {
			first = max(count+n, l.limit+1) - l.limit
		}
		state = appendEvents(state, oldest, first-1)
		state = appendEvents(state, leaving, 1)
		count -= first
	}
	state = appendEvents(state, latest, count)
	return state, ask, reply.ok
}

// The state of the decider is a header of two words, and then the entries, the oldest first. The
// first word is where the entries start, the second how many events they stand for. An entry is an
// instant, shifted left by a bit. If it stands for several events, their number follows, shifted in
// the same way, with the lowest bit set.
const logHeader = 2

func appendEvents(state []uint64, at, n uint64) []uint64 {
	if n == 0 {
		return state
	}
	state[1] += n
	if last := len(state) - 1; last >= logHeader {
		before := uint64(1)
		if state[last]&1 == 1 {
			before, last = state[last]>>1, last-1
		}
		if state[last]>>1 == at {
			return append(state[:last+1], (before+n)<<1|1)
		}
	}
	if state = append(state, at<<1); n > 1 {
		state = append(state, n<<1|1)
	}
	return state
}

func (l log) decode(buf []uint64, value reader) ([]uint64, int64, bool) {
	base, latest := uint64(value.micros()), uint64(value.micros())
	first, count, all := value.uint(3), value.uint(3), value.uint(3)
	state := append(buf, 0, 0)
	if first >= all && count > 0 || count > min(all, l.limit) || uint64(len(value.s)) != all*uint64(l.size) ||
		!value.ok || base+latest > math.MaxInt64/micro {
		return state, 0, false
	}
	mask := uint64(1)<<(8*l.size) - 1
	for i := range count {
		p := (first + i) % all * uint64(l.size)
		r := read(value.s[p:])
		age := (latest - r.uint(l.size)) & mask
		if age > base+latest {
			return state, 0, false
		}
		state = appendEvents(state, (base+latest-age)*micro, 1)
	}
	return state, int64(base + latest), value.ok
}

func (l log) encode(state []uint64, now int64) ([]byte, bool) {
	base, latest, count, slots := uint64(0), uint64(now), uint64(0), []byte(nil)
	newest := state[len(state)-1]
	if newest&1 == 1 {
		newest = state[len(state)-2]
	}
	for i := max(state[0], logHeader); state[1] > 0 && i < uint64(len(state)); {
		at, n := state[i]>>1, uint64(1)
		if i++; i < uint64(len(state)) && state[i]&1 == 1 {
			n = state[i] >> 1
			i++
		}
		switch {
		case at+l.per <= newest>>1: // has left the window
			continue
		case at%micro != 0 || n > l.limit-count:
			return nil, false
		case count == 0:
			base = at / micro
		}
		latest, count = at/micro, count+n
		for range n {
			slots = appendUint(slots, latest-base, l.size)
		}
	}
	b := appendUint(appendUint(nil, base, 7), latest-base, 7)
	b = appendUint(appendUint(appendUint(b, 0, 3), count, 3), count, 3)
	return append(b, slots...), true
}
