package weir

import (
	"slices"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// A logView is a log at an instant. Only take and giveBack write to the state. A look and a denial
// leave it as it was.
type logView struct {
	eventLog
	state []uint64
	head  uint64 // the oldest entry in the window
	total uint64 // events in the window
	now   uint64
	asked uint64 // the instant by the asking clock, which may be behind now
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
func (l *logView) last() uint64 { return l.entryBefore(uint64(len(l.state))) }

// entryBefore is the start of the entry that ends before i. There must be one.
func (l *logView) entryBefore(i uint64) uint64 { return i - 1 - l.state[i-1]&1 }

// leaves is the time until the entry at i has left the window, by the asking clock.
func (l *logView) leaves(i uint64) time.Duration {
	return exact.Duration(l.instant(i) + l.per - l.asked)
}

// nth is the entry of the nth oldest event in the window, counted from one.
func (l *logView) nth(n uint64) uint64 {
	i := l.head
	for {
		words, events := l.size(i)
		if n <= events || i+words >= uint64(len(l.state)) {
			return i
		}
		n -= events
		i += words
	}
}

// room is how many more events fit.
func (l *logView) room() uint64 { return l.limit - min(l.total, l.limit) }

// ask takes n events if they fit, or anyway.
func (l *logView) ask(n uint64, anyway bool) (r shortResult) {
	switch {
	case anyway || n <= l.room():
		l.take(n)
	case n <= l.limit:
		r.retryAfter = l.leaves(l.nth(l.total + n - l.limit))
	default:
		r.retryAfter = Never
	}
	r.remaining = int(l.room())
	if l.total > 0 {
		r.resetAfter = l.leaves(l.last())
	}
	return r
}

// take adds n events of now.
func (l *logView) take(n uint64) {
	if n == 0 {
		return
	}
	if n > maxEvents-l.total { // all that is known counts as of now
		l.state, l.head, l.total, n = l.state[:logEntries], logEntries, 0, maxEvents
	}
	l.cut()
	end, words, events := uint64(len(l.state)), uint64(0), uint64(0)
	if l.total > 0 {
		// Debts take no more memory than events that fit: earlier events count as events of now.
		last := l.last()
		if l.instant(last) == l.now || l.total > l.limit && end-l.head > 2*l.limit {
			words, events = l.size(last)
		}
	}
	l.state = append(l.state[:end-words], l.now<<1)
	if events += n; events > 1 {
		l.state = append(l.state, events<<1|1)
	}
	l.total += n
	l.state[logHead], l.state[logTotal] = l.head, l.total
}

// giveBack removes n events, the latest first. It removes none that were counted after countedAt,
// because those count for longer.
func (l *logView) giveBack(n, countedAt uint64) {
	if l.total == 0 {
		return
	}
	for at := uint64(len(l.state)); n > 0 && l.total > 0 && at > l.head; {
		at = l.entryBefore(at)
		if at < l.head {
			break // not sound
		}
		words, events := l.size(at)
		switch {
		case l.instant(at) > countedAt:
		case events == maxEvents && l.limit < maxEvents:
			n = 0
		default:
			back := min(n, events, l.total)
			n, l.total = n-back, l.total-back
			if left := events - back; left > 1 {
				l.state[at+1] = left<<1 | 1
			} else {
				l.state = slices.Delete(l.state, int(at+left), int(at+words))
			}
		}
	}
	l.state[logHead], l.state[logTotal] = l.head, l.total
}

// cut moves the entries to the front if enough of the state lies before them.
func (l *logView) cut() {
	gone := l.head - logEntries
	if all := uint64(len(l.state)) - logEntries; gone > 0 && gone >= all/4 {
		n := copy(l.state[logEntries:], l.state[l.head:])
		l.state, l.head = l.state[:logEntries+n], logEntries
	}
}
