package script

import (
	"github.com/weir-go/weir"
)

// A log is the codec of SlidingLog.
type log struct {
	per, limit uint64 // the former in nanoseconds
	size       int    // of a slot, in bytes
}

// maxSlots is how many events a value may hold: one of them takes 7 MB.
const maxSlots = 1 << 20

func newLog(p weir.SlidingLog) (log, bool) {
	l := log{per: uint64(p.Per), limit: uint64(p.Limit)}
	l.size = sizeOf(2*uint64(micros(l.per)) + 2)
	return l, l.limit <= maxSlots && micros(l.per) <= maxHalf
}

func (l log) script(s *scripts) *Script { return s.log }

func (l log) ask(ask weir.Ask) (string, bool) {
	n, how, at, ok := countAsk(ask, l.limit)
	if ask.GrantedAt%micro != 0 {
		at = -1 // nothing was granted at such an instant
	}
	return format(l.size) + numbers(micros(l.per), int64(l.limit), int64(l.size), 1<<(8*l.size), n, how, at), ok
}

func (l log) times(n int) weir.Ask { return timesUpTo(n) }

// seen makes up a log that answers as the one in Redis does: what counts of it is how many events are
// in the window, the latest, and the one that has to leave for the ask to be granted. After giving
// back, the reply tells of the log as it is then, and in place of that the instant at which it was
// done: an older instant counts as the latest that the log knew before.
func (l log) seen(buf []uint64, reply reader, now int64, ask weir.Ask) ([]uint64, int64, weir.Ask, bool) {
	count, latest, leaving := reply.uint(7), reply.uint(7)*micro, reply.uint(7)*micro
	state := append(buf, 0, 0)
	if ask.N < 0 {
		ask, now = weir.Ask{}, int64(leaving/micro)
	} else if leaving > 0 && leaving < latest {
		n := uint64(ask.N)
		if ask.How == weir.UpTo {
			n = 1
		}
		first := max(count+n, l.limit+1) - l.limit // one, if some were granted
		state = appendEvents(state, leaving, first)
		count -= first
	}
	state = appendEvents(state, latest, count)
	return state, now, ask, reply.ok
}

// The state of the decider is a header of two words, of which the first tells where the entries start
// and the second how many events they stand for; and then the entries, the oldest first: an instant,
// shifted left by a bit, and where it stands for several events, how many, in the same way but with
// the lowest bit set.
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

// events calls f for each instant in the window that state remembers.
func (l log) events(state []uint64, f func(at, n uint64)) {
	if state[1] == 0 {
		return
	}
	latest := state[len(state)-1]
	if latest&1 == 1 {
		latest = state[len(state)-2]
	}
	for i := max(state[0], logHeader); i < uint64(len(state)); {
		at, n := state[i]>>1, uint64(1)
		if i++; i < uint64(len(state)) && state[i]&1 == 1 {
			n = state[i] >> 1
			i++
		}
		if at+l.per > latest>>1 {
			f(at, n)
		}
	}
}

func (l log) decode(value reader) ([]uint64, int64, bool) {
	base, latest := value.uint(7), value.uint(7)
	first, count, all := value.uint(3), value.uint(3), value.uint(3)
	state := []uint64{0, 0}
	if first >= all && count > 0 || count > all || uint64(len(value.s)) != all*uint64(l.size) {
		return state, 0, false
	}
	mask := uint64(1)<<(8*l.size) - 1
	for i := range count {
		p := (first + i) % all * uint64(l.size)
		r := read(value.s[p:])
		age := (latest - r.uint(l.size)) & mask
		state = appendEvents(state, (base+latest-age)*micro, 1)
	}
	return state, int64(base + latest), value.ok
}

func (l log) encode(state []uint64, now int64) ([]byte, bool) {
	base, latest, total, whole := uint64(0), uint64(now)*micro, uint64(0), true
	l.events(state, func(at, n uint64) {
		if total == 0 {
			base = at / micro
		}
		latest, whole = at, whole && at%micro == 0
		total = min(total+min(n, maxSlots+1), maxSlots+1)
	})
	if !whole || total > l.limit {
		return nil, false
	}
	var slots []byte
	l.events(state, func(at, n uint64) {
		for range n {
			slots = appendUint(slots, at/micro-base, l.size)
		}
	})
	return l.value(base, latest/micro-base, total, slots), true
}

func (l log) value(base, latest, count uint64, slots []byte) []byte {
	b := appendUint(appendUint(nil, base, 7), latest, 7)
	b = appendUint(appendUint(appendUint(b, 0, 3), count, 3), count, 3)
	return append(b, slots...)
}

func (l log) first(now int64) []byte {
	return l.value(uint64(now), 0, 1, make([]byte, l.size))
}
