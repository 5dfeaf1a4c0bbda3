package table

import (
	"sync"
	"sync/atomic"
)

// A sweeper goes through the table during calls, a few slots at a time, and drops keys that are no
// longer in use.
//
// It has two paces. While it drops or moves more than three quarters of the slots that it sees, it
// looks at two slots for each call: a million keys that came once are gone after four million
// calls. Otherwise it looks at one slot for 64 calls, which costs next to nothing.
type sweeper struct {
	behind atomic.Bool // the last sweep found much to do
	inVain atomic.Bool // the last SweepNext made no room

	mu    sync.Mutex // guards what follows; callers try it, and do not wait
	slots int32      // how many it has seen of the segment that it is in
	at    uint64     // the first hash of that segment
}

// How many of the calls sweep, and how many slots, usually and when the sweeper is behind.
const (
	callsUsual, slotsUsual   = 1024, 16
	callsBehind, slotsBehind = 32, 64

	sweepsWhenFull = 64 // of slotsUsual each
)

// SweepOften must be called with each decision, at its instant, by a caller that holds no lock. It
// chooses the calls that sweep by hash and instant. Any traffic then has its share.
func (t *Table) SweepOften(h Hash, now int64) {
	if x := (h.a ^ uint64(now)) * 0x9e3779b97f4a7c15; x < 1<<64/callsBehind {
		t.sweepIfDue(x < 1<<64/callsUsual)
	}
}

func (t *Table) sweepIfDue(due bool) {
	switch {
	case t.sweeper.behind.Load():
		t.sweepSome(slotsBehind)
	case due:
		t.sweepSome(slotsUsual)
	}
}

// SweepNext sweeps until a full table has room, but at most 1,024 slots. If it has looked in vain,
// it looks at a few the next time, so that a flood of new keys costs little. It must be called
// without a lock.
func (t *Table) SweepNext() {
	w, tries := &t.sweeper, sweepsWhenFull
	if w.inVain.Load() {
		tries = 1
	}
	full := true
	for ; full && tries > 0; tries-- {
		t.sweepSome(slotsUsual)
		full = t.Full()
	}
	if w.inVain.Load() != full { // processors share this
		w.inVain.Store(full)
	}
}

// sweepSome sweeps n slots. It gives up where it would have to wait.
func (t *Table) sweepSome(n int) {
	w := &t.sweeper
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	kept, changed := 0, 0
	for n > 0 {
		seen, k, c := t.sweepOne(n)
		if seen == 0 {
			break
		}
		n, kept, changed = n-seen, kept+k, changed+c
	}
	if kept+changed > 0 {
		w.behind.Store(changed > 3*kept)
	}
}

// sweepOne sweeps up to n slots of the segment that the sweeper is in. It returns how many it has
// seen, and what sweep returns. It requires that the sweeper is locked.
func (t *Table) sweepOne(n int) (seen, kept, changed int) {
	w := &t.sweeper
	s := t.dir.Load().at(w.at).Load()
	if !s.mu.TryLock() {
		return 0, 0, 0
	}
	defer s.mu.Unlock()
	if s.replaced {
		return 0, 0, 0
	}
	seen = min(n, len(s.entries))
	kept, changed = t.sweep(s, seen)
	w.slots += int32(seen)
	done := int(w.slots) >= len(s.entries)
	if len(s.entries) > minSlots && s.live < len(s.entries)/8 {
		t.replace(s, 0)
		done = true // replace has looked at all slots
	}
	if done {
		w.slots = 0
		w.at += 1 << (64 - s.depth) // 0 after the last segment
	}
	return seen, kept, changed
}
