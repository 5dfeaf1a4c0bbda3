package casstore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/weir-go/weir"
)

// maxAttempts bounds how often other processes may have changed the value before a decision fails.
const maxAttempts = 100

// decide makes a round: it reads the value, decides for each caller in the order of their arrival,
// and swaps the value once. If another process was faster, it does so again, and then also for the
// callers that have come meanwhile.
//
// To save a Get, a round starts with the entry that the last round has left, and callers that come
// during a Get join its round. For them, the entry may be out of date. A decision on it therefore
// counts only if a Swap succeeds, which proves that the entry was current. Without a Swap, they wait
// for the next round, which reads the value. If the server has a clock, there is none of this: the
// entry's time would be from before the callers came.
//
// The calls have their answers when it returns, or else they all have the error. It returns early
// if all callers have left.
func (l *line) decide() error {
	register := l.store.register
	if l.round[0].forgets { // it is alone
		return register.Delete(l.ctx, l.key)
	}
	found := l.found
	if l.found = nil; len(l.round) == 1 && l.round[0].found != nil {
		found, l.round[0].read = l.round[0].found, true
	}
	for attempt := 1; ; attempt++ {
		if found == nil {
			if !l.take() {
				return nil
			}
			entry, err := register.Get(l.ctx, l.key)
			if err != nil {
				return err
			}
			l.hear()
			l.wasRead()
			if found = &entry; found.Now.IsZero() {
				l.take()
			}
		}
		if !l.send() { // from here on, the events of callers that leave may be counted
			return nil
		}
		d, err := l.store.policies.decide(*found, l.round)
		if err != nil || !d.changed {
			l.putBack()
			return err
		}
		now, ok, err := register.Swap(l.ctx, l.key, *found, d.value, d.keep)
		if err != nil {
			return err
		}
		l.hear()
		hasClock := !found.Now.IsZero()
		if found = &now; now.Version == nil && len(now.Value) == 0 || hasClock == now.Now.IsZero() {
			found = nil // it does not say
		}
		if ok {
			if !hasClock {
				l.found = found
			}
			return nil
		}
		l.wasRead()
		l.lost()
		if longest := l.pause(attempt); longest > time.Millisecond { // probably out of date
			found = nil
		}
	}
}

// pause waits before the next attempt, each process for another time. It returns the longest time
// that this could be. The wait ends early if no caller is left.
func (l *line) pause(attempt int) (longest time.Duration) {
	longest = min(100*time.Microsecond<<min(attempt, 8), 10*time.Millisecond)
	timer := time.NewTimer(rand.N(longest))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
	return longest
}

// A decision is that of a round.
type decision struct {
	changed bool
	value   []byte // the new one if it has changed, and how long to keep it
	keep    time.Duration
}

// decide decides on an entry for calls, in their order. The error concerns all of them.
func (ps *policies) decide(e Entry, calls []*call) (d decision, err error) {
	var own []*policy
	for i, c := range calls {
		if i == 0 || c.policy != calls[i-1].policy {
			own = append(own, c.policy)
		}
	}
	h, err := ps.load(e.Value, own)
	if err != nil {
		return d, err
	}
	first, last := int64(math.MaxInt64), int64(0) // the clocks of limiters may differ
	for _, c := range calls {
		if now, changed := c.decide(&h, e.Now); changed {
			d.changed = true
			first, last = min(first, now), max(last, now)
		}
	}
	if !d.changed {
		return d, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPolicy, p, debug.Stack())
		}
	}()
	d.value, d.keep = h.encode(last), keep(first, h.ledger.Expiry())
	if e.Now.IsZero() && d.keep < weir.Never-skew {
		d.keep += skew
	}
	return d, nil
}

// skew is how much longer a server keeps a value if the server reports no time. The clocks of the
// processes differ, and a state must not expire by the clock of another process.
const skew = 5 * time.Second

// keep is the time from now to an expiry in whole milliseconds, rounded up, at least one.
func keep(now, expiry int64) time.Duration {
	const tick = int64(time.Millisecond)
	if expiry == math.MaxInt64 || expiry-now > math.MaxInt64-tick {
		return weir.Never
	}
	return time.Duration(max((max(expiry, 0)-now+tick-1)/tick, 1) * tick)
}
