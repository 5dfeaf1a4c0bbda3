package casstore

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// A call is a request, and the caller that waits for its answer. It may outlast the caller, whose
// memory it must not touch then.
type call struct {
	ctx     context.Context
	plan    *weir.Plan
	policy  *policy
	ask     weir.Ask
	forgets bool
	found   *Entry // what the caller has found already
	since   time.Time

	// The line's goroutine writes these until done is closed.
	answer  weir.Answer
	err     error
	charges []weir.Charge
	parts   []weir.Result

	// The mutex of the store guards these.
	attempts int  // that were lost to other processes
	sent     bool // a Swap with its events may be under way
	answered bool

	done chan struct{}
}

func newCall(ctx context.Context, r weir.Request, found *Entry) *call {
	c := &call{
		ctx: ctx, plan: r.Plan, ask: r.Ask, forgets: r.Forget, found: found,
		since: time.Now(), done: make(chan struct{}),
	}
	if r.Charges != nil {
		c.charges = slices.Clone(*r.Charges)
		c.ask.Charges = &c.charges
	}
	if r.ByComponent != nil {
		c.ask.ByComponent = &c.parts
	}
	return c
}

// finish ends the call. It requires that the mutex of the store is held.
func (c *call) finish(err error) {
	c.err, c.answered = err, true
	close(c.done)
}

// returns hands the answer to the caller, after done was closed.
func (c *call) returns(r weir.Request) (weir.Answer, error) {
	if c.err != nil {
		return weir.Answer{}, c.err
	}
	if r.Charges != nil && r.N > 0 {
		*r.Charges = append((*r.Charges)[:0], c.charges...)
	}
	if r.ByComponent != nil && c.parts != nil { // a policy that is not composed leaves it alone
		*r.ByComponent = append((*r.ByComponent)[:0], c.parts...)
	}
	return c.answer, nil
}

var errPolicy = fmt.Errorf("%w: the policy panicked", weir.ErrRequest)

// decide decides on what is held, and returns the instant. If the policy panics, or the clock of the
// limiter, it is the error of this call alone.
func (c *call) decide(h *held, server time.Time) (now int64, changed bool) {
	defer func() {
		if p := recover(); p != nil {
			changed, c.err = false, fmt.Errorf("%w: %v\n%s", errPolicy, p, debug.Stack())
		}
	}()
	if c.ask.N > 0 {
		c.charges = c.charges[:0]
	}
	c.parts = nil
	if now = instant(server); server.IsZero() {
		now = c.plan.Now()
	}
	next, a, changed, err := h.ledger.Decide(h.rule(c.policy), now, c.ask)
	if err != nil {
		c.err = fmt.Errorf("%w: %w", errValue, err)
		return now, false
	}
	a.At, a.ServerTime = now, !server.IsZero()
	c.answer, c.err = a, nil
	h.ledger = next
	return now, changed
}

// A decision is that of a round on an entry.
type decision struct {
	entry   Entry
	changed bool
	value   []byte // the new one if it has changed, and how long to keep it
	keep    time.Duration
}

// decide decides for the calls, in their order. The error concerns all of them.
func (d *decision) decide(ps *policies, calls []*call) (err error) {
	var own []*policy
	for _, c := range calls {
		if c.policy.partial {
			own = append(own, c.policy)
		}
	}
	h, err := ps.load(d.entry.Value, own)
	if err != nil {
		return err
	}
	first, last := int64(math.MaxInt64), int64(0) // the clocks of limiters may differ
	for _, c := range calls {
		if now, changed := c.decide(&h, d.entry.Now); changed {
			d.changed = true
			first, last = min(first, now), max(last, now)
		}
	}
	if !d.changed {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPolicy, p, debug.Stack())
		}
	}()
	d.value, d.keep = h.encode(last), keep(first, h.ledger.Expiry())
	return nil
}

// keep is the time from now to an expiry in whole milliseconds, rounded up, at least one.
func keep(now, expiry int64) time.Duration {
	const tick = int64(time.Millisecond)
	if expiry == math.MaxInt64 || expiry-now > math.MaxInt64-tick {
		return weir.Never
	}
	ticks := max((expiry-now+tick-1)/tick, 1)
	return time.Duration(ticks * tick)
}

// instant is t in nanoseconds since the Unix epoch, or the nearest that there is.
func instant(t time.Time) int64 {
	switch s := t.Unix(); {
	case s < 0:
		return 0
	case s >= math.MaxInt64/int64(time.Second):
		return math.MaxInt64
	}
	return t.UnixNano()
}
