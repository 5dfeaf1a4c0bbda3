package change

import (
	"math"
	"slices"
)

// A deed is a number of events of a key that are granted for an instant. If negative, they are
// given back at that instant.
type deed struct {
	at     int64
	n      int
	by     int
	booked bool // promised before its instant
}

// A ledger has all that is known about a key.
type ledger struct {
	class    []int   // of each policy
	joined   []tree  // of each class
	deeds    []*deed // by their instants
	latest   *deed   // the last grant
	uses     []use
	bubble   bool // there are waiters
	grain    int64
	era      int   // how often it was reset
	resets   []int // by which limiters
	lost     bool  // something was given back that another limiter had forgotten
	nameless bool  // something was returned, so that a give-back may find its events gone

	asked   []bool  // which policies were asked
	end     int64   // when the states that grants have left are over, by their ResetAfter
	first   []int64 // when each policy asked first after the last grant, or -1
	debts   bool    // something was settled for more
	ahead   bool    // something was booked ahead
	charged int     // granted, and settled for more
	loose   int     // granted by Take and its like, or settled, and not returned
	doubled bool    // more than that was returned
	began   int64   // when the first was granted
}

func newLedger(t *Trial, grain int64) *ledger {
	l := &ledger{bubble: t.Bubble, grain: grain}
	l.class, l.joined = classes(t.Policies)
	l.uses = make([]use, len(l.class))
	l.asked, l.first = make([]bool, len(t.Policies)), make([]int64, len(t.Policies))
	l.reset(-1)
	return l
}

// reset forgets the key, because of a limiter. It also forgets earlier promises.
func (l *ledger) reset(limiter int) {
	l.deeds, l.nameless, l.debts, l.ahead, l.charged = nil, false, false, false, 0
	l.loose, l.doubled, l.lost = 0, false, false
	l.era++
	l.resets = append(l.resets, limiter)
	clear(l.asked)
	for i := range l.first {
		l.first[i] = -1
	}
}

// note records an ask.
func (l *ledger) note(a *answer) {
	l.asked[a.By] = true
	if l.first[a.By] < 0 {
		l.first[a.By] = max(a.at, 1)
	}
	if a.granted == 0 {
		return
	}
	if l.charged == 0 {
		l.began = a.at
	}
	l.charged += a.granted
	if a.Op != opReserve && a.Op != opOverrun {
		l.loose += a.granted
	}
	l.latest = &deed{later(a.at, int64(a.delay)), a.granted, a.By, a.delay > 0}
	l.insert(l.latest)
	l.ahead = l.ahead || a.delay > 0
	l.end = max(l.end, later(max(a.at, 1), int64(a.result.ResetAfter)))
	for i := range l.first {
		l.first[i] = -1
	}
}

func (l *ledger) insert(d *deed) {
	i := len(l.deeds)
	for i > 0 && l.deeds[i-1].at > d.at {
		i--
	}
	l.deeds = slices.Insert(l.deeds, i, d)
}

func later(at, d int64) int64 {
	if d > math.MaxInt64-at {
		return math.MaxInt64
	}
	return at + d
}

// cancelled records n events that a reservation gave back. Events whose instant has not come are
// removed as if they had never been granted. The others are given back now. By R17, a span contains
// the events granted in it, less those of them given back in it.
//
// The state of a bucket ends at its ResetAfter, even if earlier events were given back since. It
// may therefore free slightly more than if the events had never been granted.
func (l *ledger) cancelled(a *answer, h *held, n int) {
	if n == 0 {
		return
	}
	if h.era < l.era {
		if l.forgot(h) {
			return
		}
		l.lost = true
	}
	if h.era == l.era {
		l.charged -= n
	}
	if h.era == l.era && h.deed.at > a.at {
		h.deed.n -= n
		return
	}
	l.back(a.at, h.by, n)
}

// forgot reports whether the limiter of a reservation has reset the key since. Then nothing is
// given back.
func (l *ledger) forgot(h *held) bool { return slices.Contains(l.resets[h.era:], h.limiter) }

// returned records n events that were given back.
func (l *ledger) returned(a *answer, n int) {
	l.nameless = l.nameless || l.net() > 0 || l.debts
	l.doubled = l.doubled || n > l.loose
	l.loose -= min(n, l.loose)
	l.back(a.at, a.By, n)
}

// back records events of a policy that are given back at an instant: R16, no more than were
// granted.
func (l *ledger) back(at int64, by, n int) {
	if n = min(n, l.net()); n > 0 {
		l.insert(&deed{at: at, n: -n, by: by})
	}
}

// net returns the granted events less the events given back.
func (l *ledger) net() int {
	n := 0
	for _, d := range l.deeds {
		n += d.n
	}
	return n
}

// owe records n events that were charged beyond the booked ones. Only looks show when they are
// paid. In a bubble nobody looks: a look by the policy that reserved would bring that policy back
// for a moment, and those who wait would be granted by it.
func (l *ledger) owe(w *world, a *answer, h *held, n int) {
	l.debts = true
	l.charged += n
	l.asked[a.By] = true
	if w.Bubble {
		return
	}
	for _, by := range []int{h.by, a.By} {
		if l.first[by] < 0 {
			l.first[by] = max(a.at, 1)
		}
		l.end = max(l.end, later(max(a.at, 1), int64(w.look(by, a.Key).ResetAfter)))
	}
	w.limiter(a.By)
}

// kinds returns how many policies were asked.
func (l *ledger) kinds() int {
	n := 0
	for _, asked := range l.asked {
		if asked {
			n++
		}
	}
	return n
}
