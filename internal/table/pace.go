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

	mu    sync.Mutex // guards what follows; callers try it, and do not wait
	slots int32      // how many it has seen of the segment that it is in
	at    uint64     // the first hash of that segment
}

// How many of the calls sweep, and how many slots, usually and when the sweeper is behind.
const (
	callsUsual, slotsUsual   = 1024, 16
	callsBehind, slotsBehind = 32, 64
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

// SweepNext sweeps a few slots, so that a full table has room soon. It must be called without a
// lock.
func (t *Table) SweepNext() { t.sweepSome(slotsUsual) }

// sweepSome sweeps n slots. It gives up where it would have to wait.
func (t *Table) sweepSome(n int) {
	w := &t.sweeper
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	s := t.dir.Load().at(w.at).Load()
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.replaced {
		return
	}
	if kept, changed := t.sweep(s, n); kept+changed > 0 {
		w.behind.Store(changed > 3*kept)
	}
	if len(s.entries) > minSlots && s.live < len(s.entries)/8 {
		t.replace(s, 0)
	}
	if w.slots += int32(n); int(w.slots) >= len(s.entries) {
		w.slots = 0
		w.at += 1 << (64 - s.depth) // 0 after the last segment
	}
}
