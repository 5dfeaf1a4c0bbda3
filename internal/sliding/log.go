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
//	state[logHead]   where the entries start, or 0 for a new key; those before it have left
//	state[logTotal]  how many events the entries stand for
//	entry            instant<<1, followed by count<<1 | 1 if it stands for more than one event
//
// The low bit tells an instant from a count, in either direction. Entries that have left are
// removed when they are a quarter of the state. To take then moves O(1) words on average.
type Log struct{ Limit, Per uint64 }

const (
	logHead = iota
	logTotal
	logEntries

	// maxEvents is the most events that an entry can stand for. A debt that reaches it stands for
	// all larger debts, too, and nothing lowers it. It is no debt if Limit is as large.
	maxEvents = math.MaxUint64 >> 1
)

// LogWords is how many words the state of a new key has.
const LogWords = logEntries

// A LogView is a log at an instant. Only Take and GiveBack write to the state. Afterwards State is
// the new one, which may lie elsewhere.
type LogView struct {
	Log
	State []uint64
	Total uint64 // events in the window
	Now   uint64 // the instant of the view, or of the latest event if that is later
	head  uint64 // the oldest entry in the window
	asked uint64 // the instant by the asking clock, which may be behind Now
}

// View makes v the log at now, without the entries that have left the window. It reports false if
// it finds that the state is not sound. Then v must not be used. It finds only faults that would
// lead it or Take astray, and not all that [Log.Sound] finds. (It does not return v by value,
// because to copy it takes longer than all else here.)
func (l Log) View(v *LogView, state []uint64, now int64) bool {
	v.Log, v.State, v.Now, v.asked = l, state, uint64(now), uint64(now)
	if len(state) < logEntries {
		return false
	}
	head, total := max(state[logHead], logEntries), state[logTotal]
	if head > uint64(len(state)) {
		return false
	}
	if total > 0 {
		v.Now = max(v.Now, v.instant(v.last())) // an older instant counts as the latest known
	}
	for total > 0 && head < uint64(len(state)) && v.instant(head)+l.Per <= v.Now {
		words, events := v.size(head)
		if events > total {
			return false
		}
		head += words
		total -= events
	}
	v.head, v.Total = head, total
	return v.Intact()
}

// Intact reports whether there is a whole entry if there are events, and none if not. If it reports
// false, the state was not sound, and v must not be used.
func (v *LogView) Intact() bool {
	if v.Total == 0 {
		return v.head == uint64(len(v.State))
	}
	return v.head <= v.last()
}

// size is how many words the entry at i has, and how many events it stands for.
func (v *LogView) size(i uint64) (words, events uint64) {
	if i+1 < uint64(len(v.State)) && v.State[i+1]&1 == 1 {
		return 2, v.State[i+1] >> 1
	}
	return 1, 1
}

func (v *LogView) instant(i uint64) uint64 { return v.State[i] >> 1 }

// last is where the latest entry starts. There must be one.
func (v *LogView) last() uint64 { return v.entryBefore(uint64(len(v.State))) }

// entryBefore is the start of the entry that ends before i. There must be one.
func (v *LogView) entryBefore(i uint64) uint64 { return i - 1 - v.State[i-1]&1 }

// leaves is the time until the entry at i has left the window, by the asking clock.
func (v *LogView) leaves(i uint64) time.Duration {
	return exact.Duration(v.instant(i) + v.Per - v.asked)
}

// nth is the entry of the nth oldest event in the window, counted from one. There must be one.
func (v *LogView) nth(n uint64) uint64 {
	i := v.head
	for {
		words, events := v.size(i)
		if n <= events || i+words >= uint64(len(v.State)) {
			return i
		}
		n -= events
		i += words
	}
}

// EmptyAfter is the time until no event is left, by the asking clock.
func (v *LogView) EmptyAfter() time.Duration {
	if v.Total == 0 {
		return 0
	}
	return v.leaves(v.last())
}

// LeftAfter is the time until n events have left the window, by the asking clock. n is from 1 to
// Total.
func (v *LogView) LeftAfter(n uint64) time.Duration { return v.leaves(v.nth(n)) }

// Room is how many more events fit.
func (v *LogView) Room() uint64 { return v.Limit - min(v.Total, v.Limit) }

// Take adds n events of now.
func (v *LogView) Take(n uint64) {
	if n == 0 {
		return
	}
	if n > maxEvents-v.Total { // all that is known counts as of now
		v.State, v.head, v.Total, n = v.State[:logEntries], logEntries, 0, maxEvents
	}
	v.cut()
	end, words, events := uint64(len(v.State)), uint64(0), uint64(0)
	if v.Total > 0 {
		// In debt, there are 2*Limit words of entries, or two more. Beyond that, the events of the
		// latest entry count as events of now.
		last := v.last()
		if v.instant(last) == v.Now || v.Total > v.Limit && end-v.head > 2*v.Limit {
			words, events = v.size(last)
		}
	}
	v.State = append(v.State[:end-words], v.Now<<1)
	if events += n; events > 1 {
		v.State = append(v.State, events<<1|1)
	}
	v.Total += n
	v.State[logHead], v.State[logTotal] = v.head, v.Total
}

// GiveBack removes n events, the latest first. It removes none that were counted after countedAt,
// because those count for longer. Callers then check Intact.
func (v *LogView) GiveBack(n uint64, countedAt int64) {
	if v.Total == 0 {
		return
	}
	for at := uint64(len(v.State)); n > 0 && v.Total > 0 && at > v.head; {
		at = v.entryBefore(at)
		if at < v.head {
			break // not sound
		}
		words, events := v.size(at)
		switch {
		case v.instant(at) > uint64(countedAt):
		case events == maxEvents && v.Limit < maxEvents:
			n = 0
		default:
			back := min(n, events, v.Total)
			n, v.Total = n-back, v.Total-back
			if left := events - back; left > 1 {
				v.State[at+1] = left<<1 | 1
			} else {
				v.State = slices.Delete(v.State, int(at+left), int(at+words))
			}
		}
	}
	v.State[logHead], v.State[logTotal] = v.head, v.Total
}

// cut moves the entries to the front if enough of the state lies before them.
func (v *LogView) cut() {
	gone := v.head - logEntries
	if all := uint64(len(v.State)) - logEntries; gone > 0 && gone >= all/4 {
		n := copy(v.State[logEntries:], v.State[v.head:])
		v.State, v.head = v.State[:logEntries+n], logEntries
	}
}

// Expiry is the instant at which the latest event leaves the window, or 0 if there is none.
func (l Log) Expiry(state []uint64) int64 {
	if len(state) <= logEntries || state[logTotal] == 0 {
		return 0
	}
	v := LogView{Log: l, State: state}
	return int64(exact.Duration(v.instant(v.last()) + l.Per))
}

// Sound reports whether the state can be one of l. It reads all entries, and takes time in
// proportion to the length of the log.
func (l Log) Sound(state []uint64) bool {
	if len(state) < logEntries || state[logHead] > uint64(len(state)) {
		return false
	}
	v := LogView{Log: l, State: state}
	total, before := uint64(0), uint64(0)
	for i := max(state[logHead], logEntries); i < uint64(len(state)); {
		words, events := v.size(i)
		at := v.instant(i)
		if state[i]&1 == 1 || at < before || events == 0 || events > maxEvents-total {
			return false
		}
		i, before, total = i+words, at, total+events
	}
	return total == state[logTotal]
}
