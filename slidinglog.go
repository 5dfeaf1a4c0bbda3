package weir

import (
	"math"
	"slices"
	"time"
)

// SlidingLog allows Limit events in any window of length Per, exactly.
//
// It remembers when each event was granted, and counts those in (now-Per, now]: one that is exactly
// Per old is gone. Events of one instant share an entry.
//
// Choose it where the limit is small and the promise strict: five logins a minute, a contract with
// a provider that counts the same way. No window of length Per, wherever it starts, sees more than
// Limit events; but all of them may come at once. For large limits use [SlidingWindow] or
// [TokenBucket].
//
// Its memory grows with what a key used: one word for an instant remembered, or two if several
// events share it, and two more; never beyond Limit instants. It shrinks again.
//
// It is the sliding window in its literal form. N. Mahdi, "An alternative approach to rate limiting", Figma, 2017,
// describes it under the name "sliding window log", beside others.
type SlidingLog struct {
	Limit int           // events allowed in any window; at least 1
	Per   time.Duration // length of the window; at least 1ns
}

// Decider implements [Policy].
func (p SlidingLog) Decider() (Decider, error) {
	f := faults{policy: p}
	f.rate(p.Limit, p.Per)
	if err := f.err(); err != nil {
		return nil, err
	}
	return eventLog{limit: uint64(p.Limit), per: uint64(p.Per)}, nil
}

// An eventLog's state is empty, or a header of two words and then the entries, oldest first.
//
//	state[logHead]   where the entries start: what lies before has left the window
//	state[logTotal]  how many events the entries stand for
//	entry            instant<<1, and if it stands for more than one event, then count<<1 | 1
//
// The low bit tells an instant from a count, read in either direction. What has left is cut off
// when it is a quarter of the state, so that a decision moves O(1) words on average.
type eventLog struct{ limit, per uint64 }

const (
	logHead = iota
	logTotal
	logEntries

	// maxEvents is what an entry can stand for at most. A debt that reaches it stands for all from it on, and
	// nothing lowers it.
	maxEvents = math.MaxUint64 >> 1
)

func (d eventLog) Words() int { return logEntries }

func (d eventLog) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	var l logView
	d.view(&l, state, now)
	if ask.N < 0 {
		l.giveBack(magnitude(ask.N), uint64(ask.GrantedAt))
	}
	n, granted := uint64(max(ask.N, 0)), 0
	if ask.How == UpTo {
		granted = int(min(n, l.room()))
		n = max(uint64(granted), min(n, 1))
	}
	fits := l.take(n, ask.How)
	a := Answer{Granted: granted, Result: Result{
		Allowed:   fits,
		Limit:     int(d.limit),
		Remaining: int(l.room()),
	}}
	if l.total > 0 {
		a.ResetAfter = l.leaves(l.last())
	}
	switch {
	case fits:
	case n > d.limit:
		a = a.never()
	default:
		a.RetryAfter = l.leaves(l.nth(l.total + n - d.limit))
	}
	return l.state, a
}

func (d eventLog) admit(state []uint64, now int64) ([]uint64, bool) {
	var l logView
	d.view(&l, state, now)
	granted := l.take(1, AllOrNone)
	return l.state, granted
}

// succeed keeps all that is in the window of a log of another limit or length.
func (d eventLog) succeed(from Decider, state, fresh []uint64, now int64) (_ []uint64, exact, ok bool) {
	f, ok := from.(eventLog)
	if ok {
		var l logView
		f.view(&l, state, now)
		fresh = append(fresh, l.state[l.head:]...)
		fresh[logHead], fresh[logTotal] = logEntries, l.total
	}
	return fresh, ok, ok
}

func (d eventLog) used(state []uint64, now int64) uint64 {
	var l logView
	d.view(&l, state, now)
	return l.total
}

// view makes l the log at now, without the entries that have left the window. (Returned by value, it
// would be copied, which takes longer than all else here.)
func (d eventLog) view(l *logView, state []uint64, now int64) {
	l.eventLog, l.state, l.now = d, state, uint64(now)
	head, total := max(state[logHead], logEntries), state[logTotal]
	if total > 0 {
		l.now = max(l.now, l.instant(l.last())) // an older instant counts as the latest known
	}
	for total > 0 && l.instant(head)+d.per <= l.now {
		words, events := l.size(head)
		head += words
		total -= events
	}
	l.head, l.total = head, total
}

// Expiry is when the latest event leaves the window.
func (d eventLog) Expiry(state []uint64) int64 {
	if state[logTotal] == 0 {
		return 0
	}
	l := logView{eventLog: d, state: state}
	return int64(saturate(l.instant(l.last()) + d.per))
}

// A logView is a log as it is at an instant. Only take and giveBack write to the state, so that a
// look and a denial leave it as it was.
type logView struct {
	eventLog
	state []uint64
	head  uint64 // the oldest entry in the window
	total uint64 // events in the window
	now   uint64
}

// size is how many words the entry at i has, and how many events it stands for.
func (l *logView) size(i uint64) (words, events uint64) {
	if i+1 < uint64(len(l.state)) && l.state[i+1]&1 == 1 {
		return 2, l.state[i+1] >> 1
	}
	return 1, 1
}

func (l *logView) instant(i uint64) uint64 { return l.state[i] >> 1 }

// last is where the latest entry starts. There must be one.
func (l *logView) last() uint64 {
	i := uint64(len(l.state)) - 1
	return i - l.state[i]&1
}

// leaves is the time until the entry at i has left the window.
func (l *logView) leaves(i uint64) time.Duration {
	return saturate(l.instant(i) + l.per - l.now)
}

// nth is the entry of the nth oldest event in the window, counted from one.
func (l *logView) nth(n uint64) uint64 {
	i := l.head
	for {
		words, events := l.size(i)
		if n <= events {
			return i
		}
		n -= events
		i += words
	}
}

// room is how many more events fit.
func (l *logView) room() uint64 { return l.limit - min(l.total, l.limit) }

// take adds n events of now, if they fit, or regardless.
func (l *logView) take(n uint64, how How) bool {
	switch {
	case n == 0:
		return true
	case how == Regardless && n > maxEvents-l.total:
		// All that is known counts as of now.
		l.state, l.head, l.total, n = l.state[:logEntries], logEntries, 0, maxEvents
	case how == Regardless:
	case n > l.room():
		return false
	}
	l.cut()
	switch {
	case l.total > 0 && l.instant(l.last()) == l.now:
		l.setLast(n)
	case l.total > l.limit && uint64(len(l.state))-l.head > 2*l.limit:
		// Debts take no more memory than events that fit: those of before count as those of now.
		l.state[l.last()] = l.now << 1
		l.setLast(n)
	case n > 1:
		l.state = append(l.state, l.now<<1, n<<1|1)
	case n == 1:
		l.state = append(l.state, l.now<<1)
	}
	l.total += n
	l.state[logHead], l.state[logTotal] = l.head, l.total
	return true
}

// setLast adds n events to the latest entry.
func (l *logView) setLast(n uint64) {
	i := l.last()
	_, events := l.size(i)
	l.state = append(l.state[:i+1], (events+n)<<1|1)
}

// giveBack takes out n events: those of the instant grantedAt, or, if it is zero, the latest first.
func (l *logView) giveBack(n, grantedAt uint64) {
	i := l.head
	for grantedAt != 0 && l.total > 0 && i < l.last() && l.instant(i) < grantedAt {
		words, _ := l.size(i)
		i += words
	}
	switch {
	case l.total == 0:
	case grantedAt == 0:
		for n > 0 && l.total > 0 {
			n -= l.takeOut(l.last(), n)
		}
	case l.instant(i) == grantedAt:
		l.takeOut(i, n)
	}
	l.state[logHead], l.state[logTotal] = l.head, l.total
}

// takeOut takes up to n events out of the entry at i, and returns how many it accounts for.
func (l *logView) takeOut(i, n uint64) uint64 {
	words, events := l.size(i)
	if events == maxEvents && l.limit < maxEvents {
		return n
	}
	back := min(n, events)
	l.total -= back
	left := events - back
	switch {
	case left == 0:
		l.state = slices.Delete(l.state, int(i), int(i+words))
	case left > 1:
		l.state[i+1] = left<<1 | 1
	case words == 2:
		l.state = slices.Delete(l.state, int(i+1), int(i+2))
	}
	return back
}

// cut moves the entries to the front if enough of the state lies before them.
func (l *logView) cut() {
	gone := l.head - logEntries
	if all := uint64(len(l.state)) - logEntries; gone > 0 && gone >= all/4 {
		n := copy(l.state[logEntries:], l.state[l.head:])
		l.state, l.head = l.state[:logEntries+n], logEntries
	}
}
