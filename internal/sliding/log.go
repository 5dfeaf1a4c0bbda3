package sliding

import (
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// A Log keeps the instants of the events of the last Per nanoseconds. Its state is a
// header of two words, and then the entries, oldest first.
//
//	state[logHead]   where the entries start: those before it have left the window
//	state[logTotal]  how many events the entries stand for
//	entry            instant<<1, and if it stands for more than one event, then count<<1 | 1
//
// The low bit tells an instant from a count, in either direction. Entries that have left are
// removed when they are a quarter of the state. A decision then moves O(1) words on average.
type Log struct{ Limit, Per uint64 }

const (
	logHead = iota
	logTotal
	logEntries

	// maxEvents is the most events that an entry can stand for. A debt that reaches it stands for
	// all larger debts, too, and nothing lowers it.
	maxEvents = math.MaxUint64 >> 1
)

// LogWords is how many words the state of a new key has.
const LogWords = logEntries

// A LogView is a log at an instant. Only Take and GiveBack write to the state. A look and a denial
// leave it as it was.
type LogView struct {
	Log
	State []uint64
	Total uint64 // events in the window
	Now   uint64 // the instant of the view, or of the latest event if that is later
	head  uint64 // the oldest entry in the window
	asked uint64 // the instant by the asking clock, which may be behind Now
}

// View makes l the log at now, without the entries that have left the window. It reports false if
// the state is not sound. (It does not return l by value, because to copy it takes longer than all
// else here.)
func (d Log) View(l *LogView, state []uint64, now int64) bool {
	l.Log, l.State, l.Now, l.asked = d, state, uint64(now), uint64(now)
	if len(state) < logEntries {
		return false
	}
	head, total := max(state[logHead], logEntries), state[logTotal]
	if head > uint64(len(state)) || total > 0 && head == uint64(len(state)) {
		return false
	}
	if total > 0 {
		l.Now = max(l.Now, l.instant(l.last())) // an older instant counts as the latest known
	}
	for total > 0 && head < uint64(len(state)) && l.instant(head)+d.Per <= l.Now {
		words, events := l.size(head)
		if events > total {
			return false
		}
		head += words
		total -= events
	}
	l.head, l.Total = head, total
	return l.Whole()
}

// Whole reports whether there are entries if there are events, and none if not. If it reports
// false, the state is not sound.
func (l *LogView) Whole() bool { return (l.Total > 0) == (l.head < uint64(len(l.State))) }

// size is how many words the entry at i has, and how many events it stands for.
func (l *LogView) size(i uint64) (words, events uint64) {
	if i+1 < uint64(len(l.State)) && l.State[i+1]&1 == 1 {
		return 2, l.State[i+1] >> 1
	}
	return 1, 1
}

func (l *LogView) instant(i uint64) uint64 { return l.State[i] >> 1 }

// last is where the latest entry starts. There must be one.
func (l *LogView) last() uint64 { return l.entryBefore(uint64(len(l.State))) }

// entryBefore is the start of the entry that ends before i. There must be one.
func (l *LogView) entryBefore(i uint64) uint64 { return i - 1 - l.State[i-1]&1 }

// leaves is the time until the entry at i has left the window, by the asking clock.
func (l *LogView) leaves(i uint64) time.Duration {
	return exact.Duration(l.instant(i) + l.Per - l.asked)
}

// nth is the entry of the nth oldest event in the window, counted from one.
func (l *LogView) nth(n uint64) uint64 {
	i := l.head
	for {
		words, events := l.size(i)
		if n <= events || i+words >= uint64(len(l.State)) {
			return i
		}
		n -= events
		i += words
	}
}

// Empty is the time until no event is left, by the asking clock.
func (l *LogView) Empty() time.Duration {
	if l.Total == 0 {
		return 0
	}
	return l.leaves(l.last())
}

// Left is the time until n events have left the window, of the Total that are in it.
func (l *LogView) Left(n uint64) time.Duration { return l.leaves(l.nth(n)) }

// Room is how many more events fit.
func (l *LogView) Room() uint64 { return l.Limit - min(l.Total, l.Limit) }

// Take adds n events of now.
func (l *LogView) Take(n uint64) {
	if n == 0 {
		return
	}
	if n > maxEvents-l.Total { // all that is known counts as of now
		l.State, l.head, l.Total, n = l.State[:logEntries], logEntries, 0, maxEvents
	}
	l.cut()
	end, words, events := uint64(len(l.State)), uint64(0), uint64(0)
	if l.Total > 0 {
		// Debts take no more memory than events that fit: earlier events count as events of now.
		last := l.last()
		if l.instant(last) == l.Now || l.Total > l.Limit && end-l.head > 2*l.Limit {
			words, events = l.size(last)
		}
	}
	l.State = append(l.State[:end-words], l.Now<<1)
	if events += n; events > 1 {
		l.State = append(l.State, events<<1|1)
	}
	l.Total += n
	l.State[logHead], l.State[logTotal] = l.head, l.Total
}

// GiveBack removes n events, the latest first. It removes none that were counted after countedAt,
// because those count for longer.
func (l *LogView) GiveBack(n, countedAt uint64) {
	if l.Total == 0 {
		return
	}
	for at := uint64(len(l.State)); n > 0 && l.Total > 0 && at > l.head; {
		at = l.entryBefore(at)
		if at < l.head {
			break // not sound
		}
		words, events := l.size(at)
		switch {
		case l.instant(at) > countedAt:
		case events == maxEvents && l.Limit < maxEvents:
			n = 0
		default:
			back := min(n, events, l.Total)
			n, l.Total = n-back, l.Total-back
			if left := events - back; left > 1 {
				l.State[at+1] = left<<1 | 1
			} else {
				l.State = slices.Delete(l.State, int(at+left), int(at+words))
			}
		}
	}
	l.State[logHead], l.State[logTotal] = l.head, l.Total
}

// cut moves the entries to the front if enough of the state lies before them.
func (l *LogView) cut() {
	gone := l.head - logEntries
	if all := uint64(len(l.State)) - logEntries; gone > 0 && gone >= all/4 {
		n := copy(l.State[logEntries:], l.State[l.head:])
		l.State, l.head = l.State[:logEntries+n], logEntries
	}
}

// Expiry is the instant at which the latest event leaves the window.
func (d Log) Expiry(state []uint64) int64 {
	if len(state) <= logEntries || state[logTotal] == 0 {
		return 0
	}
	l := LogView{Log: d, State: state}
	return int64(exact.Duration(l.instant(l.last()) + d.Per))
}

// Sound reads all entries, and takes time in proportion to the length of the log. View, Take and
// GiveBack check all that they rely on themselves.
func (d Log) Sound(state []uint64) bool {
	if len(state) < logEntries || state[logHead] > uint64(len(state)) {
		return false
	}
	l := LogView{Log: d, State: state}
	total, before := uint64(0), uint64(0)
	for i := max(state[logHead], logEntries); i < uint64(len(state)); {
		words, events := l.size(i)
		at := l.instant(i)
		if state[i]&1 == 1 || at < before || events == 0 || events > maxEvents-total {
			return false
		}
		i, before, total = i+words, at, total+events
	}
	return total == state[logTotal]
}
