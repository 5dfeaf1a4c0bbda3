package weir

import (
	"math"
	"time"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/text"
)

// SlidingLog allows Limit events in any window of length Per, exactly.
//
// It keeps the instant of each granted event, and counts the events in (now-Per, now]. An event
// that is exactly Per old no longer counts. Events of one instant share an entry.
//
// Choose it for a small, strict limit: five logins a minute, or a contract with a provider that
// counts like a SlidingLog. While the policy stays the same, any window of length Per has at most
// Limit granted events that were not given back. Only one of its two ends belongs to the window.
// All Limit events may come at once. For large limits use [SlidingWindow] or [TokenBucket].
//
// Its memory per key grows with use, up to Limit instants, and shrinks again. It has:
//
//   - one word for each instant, or two if several events share it
//   - after a grant, up to a third more words, for events that no longer count
//   - two more words
//
// A key in debt may have more instants than Limit. Together they take at most 2*Limit+2 words. If
// the entries of new events do not fit in that, the events of the latest entry are moved to the
// instant of the new events, and share an entry with them.
//
// N. Mahdi, "An alternative approach to rate limiting", Figma, 2017, describes such a log as
// "sliding window log".
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

// String returns the text form of p, such as "sliding-log 5/1m".
func (p SlidingLog) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p SlidingLog) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy.
func (p *SlidingLog) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p *SlidingLog) form() text.Form {
	return text.Rate(&p.Limit, text.Duration(&p.Per))
}

// An eventLog's state is empty, or a header of two words and then the entries, oldest first.
//
//	state[logHead]   where the entries start: those before it have left the window
//	state[logTotal]  how many events the entries stand for
//	entry            instant<<1, and if it stands for more than one event, then count<<1 | 1
//
// The low bit tells an instant from a count, in either direction. Entries that have left are
// removed when they are a quarter of the state. A decision then moves O(1) words on average.
type eventLog struct{ limit, per uint64 }

const (
	logHead = iota
	logTotal
	logEntries

	// maxEvents is the most events that an entry can stand for. A debt that reaches it stands for
	// all larger debts, too, and nothing lowers it.
	maxEvents = math.MaxUint64 >> 1
)

func (d eventLog) Words() int { return logEntries }

func (d eventLog) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	var l logView
	if !d.view(&l, state, now) {
		return state, broken()
	}
	if ask.N < 0 {
		if l.giveBack(exact.Magnitude(ask.N), uint64(ask.CountedAt())); !l.whole() {
			return l.state, broken()
		}
	}
	var a Answer
	n := a.count(ask, d.limit, l.room())
	r := l.ask(n, ask.Mode == Regardless)
	if a.Allowed {
		ask.chargeLate(n, now, l.now, l.now+d.per)
	}
	a.Remaining, a.RetryAfter, a.ResetAfter = r.remaining, r.retryAfter, r.resetAfter
	if ask.More && l.total > 0 {
		a.MoreAfter = l.leaves(l.nth(l.total + l.room() + 1 - d.limit))
	}
	return l.state, a
}

func (d eventLog) admit(state []uint64, now int64) ([]uint64, bool) {
	var l logView
	granted := d.view(&l, state, now) && l.room() > 0
	if granted {
		l.take(1)
	}
	return l.state, granted
}

func (d eventLog) take(state []uint64, now int64, n int) ([]uint64, shortResult, int) {
	var l logView
	if !d.view(&l, state, now) {
		return state, broken().short(), 0
	}
	r := l.ask(uint64(n), false)
	return l.state, r, 0
}

// The methods below are for changes of policy, see counter.

func (d eventLog) counts() any { return eventLog{per: d.per} }

func (d eventLog) allowance() uint64 { return d.limit }

// In debt, a log keeps no more entries than its limit needs, and moves other events to a later
// instant.
func (d eventLog) keepsMore(other Decider) bool { return d.limit > other.(eventLog).limit }

func (d eventLog) used(state []uint64, now int64) uint64 {
	var l logView
	d.view(&l, state, now)
	return l.total
}

// view makes l the log at now, without the entries that have left the window. It reports false if
// the state is not sound. (It does not return l by value, because to copy it takes longer than all
// else here.)
func (d eventLog) view(l *logView, state []uint64, now int64) bool {
	l.eventLog, l.state, l.now, l.asked = d, state, uint64(now), uint64(now)
	if len(state) < logEntries {
		return false
	}
	head, total := max(state[logHead], logEntries), state[logTotal]
	if head > uint64(len(state)) || total > 0 && head == uint64(len(state)) {
		return false
	}
	if total > 0 {
		l.now = max(l.now, l.instant(l.last())) // an older instant counts as the latest known
	}
	for total > 0 && head < uint64(len(state)) && l.instant(head)+d.per <= l.now {
		words, events := l.size(head)
		if events > total {
			return false
		}
		head += words
		total -= events
	}
	l.head, l.total = head, total
	return l.whole()
}

// whole reports whether there are entries if there are events, and none if not.
func (l *logView) whole() bool { return (l.total > 0) == (l.head < uint64(len(l.state))) }

// Expiry is the instant at which the latest event leaves the window.
func (d eventLog) Expiry(state []uint64) int64 {
	if len(state) <= logEntries || state[logTotal] == 0 {
		return 0
	}
	l := logView{eventLog: d, state: state}
	return int64(exact.Duration(l.instant(l.last()) + d.per))
}

// sound reads all entries, and takes time in proportion to the length of the log. Decide itself
// checks all that it relies on.
func (d eventLog) sound(state []uint64) bool {
	if len(state) < logEntries || state[logHead] > uint64(len(state)) {
		return false
	}
	l := logView{eventLog: d, state: state}
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
