package weir

import "time"

// LeakyBucket is a queue with an outlet that lets one event go each Per/Limit, evenly spaced.
//
// The outlet saves nothing while it is idle: however long that was, one event goes at once and the
// next Per/Limit later. An ask for n events goes as a whole at its slot, and occupies the outlet
// for n slots from there.
//
// [Keyed.Allow] and [Keyed.Take] do not queue: they are granted if the outlet is free now.
// [Keyed.Wait] joins the queue if its slot lies no more than Capacity slots ahead, and fails with
// [ErrQueueFull] at once if not. Waiters are served in the order in which they joined. When one gives
// up, the waiters behind it move up, as [Keyed.Wait] tells.
//
// Choose it to protect something that bears no bursts: a provider that counts every second, a
// printer, a mail relay. It never lets more than 1 + Limit*s/Per asks go in a span of length s with both ends; an
// ask for n events counts as one, so ask for one at a time to space events evenly. Where bursts are
// harmless, [TokenBucket] makes callers wait less. It costs one word of memory per key, or two where
// Per is not a multiple of Limit nanoseconds, or a full queue takes 146 years (2^62 ns) or more.
//
// The leaky bucket as a queue is described in A. Tanenbaum, "Computer Networks", and is what
// nginx's limit_req does.
type LeakyBucket struct {
	Limit    int           // events let go per Per; at least 1
	Per      time.Duration // at least 1ns
	Capacity int           // events that can wait; 0 means Limit
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
