package weir

import (
	"math/bits"
	"time"
)

// FixedWindow allows Limit events in each window of length Per.
//
//   - Windows are aligned to the Unix epoch. Windows of an hour start on the hour in UTC, for all
//     keys.
//   - With FromFirst, a key's window starts with the first event after its last window ended.
//
// It is the policy that is easiest to explain ("1000 a day"): the whole allowance is back at one
// instant. Its flaw is the boundary. Limit events just before it and Limit just after it make
// 2*Limit in any short span around it. Where that matters, use [SlidingWindow] or [SlidingLog].
//
// It costs one word of memory per key. It costs two with FromFirst, and two if the limit is too
// large for the window (above 500 million a second or 500,000 a millisecond).
//
// The Redis documentation of INCR has both forms as patterns for a rate limiter: a counter for each
// second, and a counter that expires a second after its first event.
type FixedWindow struct {
	Limit     int           // events allowed in a window; at least 1
	Per       time.Duration // length of a window; at least 1ns
	FromFirst bool          // windows start with a key's first event, not aligned to the epoch
}

// Decider implements [Policy].
func (p FixedWindow) Decider() (Decider, error) {
	f := faults{policy: p}
	f.rate(p.Limit, p.Per)
	if err := f.err(); err != nil {
		return nil, err
	}
	per := uint64(p.Per)
	if p.FromFirst {
		return window{uint64(p.Limit), 1, fromFirst{per}}.decider(0), nil
	}
	return window{uint64(p.Limit), per, aligned{per}}.decider(63 - bits.Len64(maxInstant/per)), nil
}

// aligned are windows of a length, aligned to the epoch, and marked by their number.
type aligned struct{ per uint64 }

// around divides only when a window has ended.
func (a aligned) around(s words, now uint64) (mark, end uint64) {
	mark, end = s.first, (s.first+1)*a.per
	if now >= end {
		mark = now / a.per
		end = (mark + 1) * a.per
	}
	return mark, end
}

func (a aligned) counts() any { return a }

// fromFirst are windows of a length. Their mark is the instant of their first event, at which they
// start.
type fromFirst struct{ per uint64 }

func (f fromFirst) around(s words, now uint64) (mark, end uint64) {
	mark = s.first
	if s.second == 0 || now >= mark+f.per {
		mark = now
	}
	return mark, mark + f.per
}

func (f fromFirst) counts() any { return f }
