package weir

import (
	"time"

	"github.com/weir-go/weir/internal/text"
)

// LeakyBucket is a queue with an outlet. If each request is for one event, the outlet usually lets
// at most one event pass in each span of Per/Limit. A slot is a time of this length.
//
// Unused slots are not saved. After any idle time one request passes at once, and the next can pass
// when the outlet is free again. The n events of a request pass together, and then occupy the
// outlet for n slots. One request is granted at most Capacity events.
//
//   - [KeyedLimiter.Allow] and [KeyedLimiter.Take] do not queue. Their events are granted if the
//     outlet is free now.
//   - [KeyedLimiter.Wait] joins the queue if its turn is at most Capacity slots ahead, and not
//     after the deadline of its context. If the turn is more than Capacity slots ahead, Wait fails
//     with [ErrQueueFull]. Waiters are served in the order in which they joined. When one gives up,
//     those behind it move up. [KeyedLimiter.Wait] lists the exceptions.
//
// Choose LeakyBucket to protect a server or device that cannot take bursts: a printer, a mail
// relay, a service with a limit for each second. Where bursts are harmless, [TokenBucket] makes
// callers wait less.
//
// If no events are given back and the policy stays the same, a span of length s has at most
//
//	Limit*s/Per
//
// requests, rounded up. The span includes its start, not its end. A request for n events counts as
// one here. To space events evenly, take one event at a time.
//
// The state of a key takes one word of 8 bytes. It takes two words if Per is not a multiple of
// Limit nanoseconds, and also if a full queue lasts 146 years (2^62 ns) or more.
//
// A. Tanenbaum, "Computer Networks", describes the leaky bucket as a queue. The limit_req module of
// nginx works in a similar way.
type LeakyBucket struct {
	Limit    int           // events that pass the outlet in Per; at least 1
	Per      time.Duration // at least 1ns
	Capacity int           // events that can wait in the queue; 0 means Limit
}

// Decider implements [Policy].
func (p LeakyBucket) Decider() (Decider, error) {
	f := faults{policy: p}
	f.rate(p.Limit, p.Per)
	f.atLeastZero("Capacity", p.Capacity)
	if err := f.err(); err != nil {
		return nil, err
	}
	b := newBucket(p.Limit, p.Per, p.Capacity)
	b.spaced, b.queue = true, b.full
	return b.decider(), nil
}

// String returns the text form of p, such as "leaky-bucket 10/1s capacity=50".
func (p LeakyBucket) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p LeakyBucket) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy.
func (p *LeakyBucket) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p *LeakyBucket) form() text.Form {
	return text.Rate(&p.Limit, text.Duration(&p.Per), text.Count("capacity", &p.Capacity))
}
