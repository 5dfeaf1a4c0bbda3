package table

import (
	"sync"
	"sync/atomic"
)

// A sweeper goes through the table during calls, a few slots at a time, and drops keys that are no
// longer in use.
//
// An expired key may come back, and costs more if it was dropped. The sweeper therefore measures
// how long it takes until the table has had as many calls as it has keys. It drops keys that have
// been expired for that long. It keeps keys that come back within that time.
//
// It has two paces. While it drops or moves more than three quarters of the slots that it sees, it
// looks at two slots for each call: a million keys that came once are gone after four million
// calls. Otherwise it looks at one slot for 64 calls, which costs next to nothing.
type sweeper struct {
	behind atomic.Bool // the last sweep found much to do

	mu     sync.Mutex // guards what follows; callers try it, and do not wait
	slots  int32      // how many it has seen of the segment that it is in
	at     uint64     // the first hash of that segment
	calls  int64      // since the instant since
	since  int64      // when the present span of calls began
	before int64      // when the span before it began
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
		t.sweepIfDue(x < 1<<64/callsUsual, now)
	}
}

func (t *Table) sweepIfDue(due bool, now int64) {
	switch {
	case t.sweeper.behind.Load():
		t.sweepSome(callsBehind, slotsBehind, now)
	case due:
		t.sweepSome(callsUsual, slotsUsual, now)
	}
}

// SweepNext sweeps a few slots, so that a full table has room soon. It must be called without a
// lock.
func (t *Table) SweepNext() { t.sweepSome(0, slotsUsual, 0) }

// sweepSome sweeps n slots. The call stands for so many, or for none if it is to make room. It
// gives up where it would have to wait.
func (t *Table) sweepSome(calls int64, n int, now int64) {
	w := &t.sweeper
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	keys := t.keys.Load()
	if w.calls += calls; w.calls > keys+keys/4 && calls > 0 { // calls are estimated: a quarter to be safe
		w.calls, w.before, w.since = 0, w.since, now
	}
	unused := max(now-w.before, 0)
	if keys >= t.maxKeys {
		unused = 0
	}

	s := t.dir.Load().at(w.at).Load()
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.replaced {
		return
	}
	if kept, changed := t.sweep(s, n, unused); kept+changed > 0 {
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
