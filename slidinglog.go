package weir

import (
	"time"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/sliding"
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
// A key in debt may have more instants than Limit. Together they take at most 2*Limit+2 words: if
// they take more than 2*Limit, the events of the latest instant are moved to that of new events,
// and share an entry with them.
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
	return &eventLog{Limit: uint64(p.Limit), Per: uint64(p.Per)}, nil
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

// An eventLog decides by a log of instants.
type eventLog sliding.Log

func (d *eventLog) Words() int { return sliding.LogWords }

func (d *eventLog) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	var v sliding.LogView
	if !(*sliding.Log)(d).View(&v, state, now) {
		return state, broken()
	}
	if ask.N < 0 {
		if v.GiveBack(exact.Magnitude(ask.N), ask.CountedAt()); !v.Intact() {
			return v.State, broken()
		}
	}
	var a Answer
	n := a.count(ask, d.Limit, v.Room())
	r := askLog(&v, n, ask.Mode == Regardless)
	if a.Allowed {
		ask.chargeLate(n, now, v.Now, v.Now+d.Per)
	}
	a.Remaining, a.RetryAfter, a.ResetAfter = r.remaining, r.retryAfter, r.resetAfter
	if ask.More && v.Total > 0 {
		a.MoreAfter = v.LeftAfter(v.Total + v.Room() + 1 - d.Limit)
	}
	return v.State, a
}

// askLog takes n events if they fit, or anyway.
func askLog(v *sliding.LogView, n uint64, anyway bool) (r shortResult) {
	switch {
	case anyway || n <= v.Room():
		v.Take(n)
	case n <= v.Limit:
		r.retryAfter = v.LeftAfter(v.Total + n - v.Limit)
	default:
		r.retryAfter = Never
	}
	r.remaining, r.resetAfter = int(v.Room()), v.EmptyAfter()
	return r
}

func (d *eventLog) admit(state []uint64, now int64) ([]uint64, bool) {
	var v sliding.LogView
	granted := (*sliding.Log)(d).View(&v, state, now) && v.Room() > 0
	if granted {
		v.Take(1)
	}
	return v.State, granted
}

func (d *eventLog) take(state []uint64, now int64, n int) ([]uint64, shortResult, int) {
	var v sliding.LogView
	if !(*sliding.Log)(d).View(&v, state, now) {
		return state, broken().short(), 0
	}
	r := askLog(&v, uint64(n), false)
	return v.State, r, 0
}

func (d *eventLog) Expiry(state []uint64) int64 { return (*sliding.Log)(d).Expiry(state) }

// The methods below are for changes of policy, see counter.

func (d *eventLog) counts() any { return eventLog{Per: d.Per} }

func (d *eventLog) allowance() uint64 { return d.Limit }

// In debt, a log keeps no more entries than its limit needs, and moves other events to a later
// instant.
func (d *eventLog) keepsMore(other Decider) bool { return d.Limit > other.(*eventLog).Limit }

func (d *eventLog) used(state []uint64, now int64) uint64 {
	var v sliding.LogView
	(*sliding.Log)(d).View(&v, state, now)
	return v.Total
}

func (d *eventLog) sound(state []uint64) bool { return (*sliding.Log)(d).Sound(state) }
