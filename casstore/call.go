package casstore

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/clock"
)

// A call is a request that a caller waits for. It may outlast the caller. It must then not touch
// the caller's memory.
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
	read    bool // the value, since the caller came
	charges []weir.Charge
	parts   []weir.Result

	// The mutex of the line guards these.
	replies  int  // that its line had had before it came
	attempts int  // that were lost to other processes
	inRound  bool // false while it waits for a round
	sent     bool // a Swap with its events may be under way
	left     bool // nobody waits for it any more
	answered bool

	done chan struct{}
}

func (c *call) hasLeft() bool { return c.left }

// outcome says for an error what may have become of the call. It requires that the mutex of the line
// is held.
func (c *call) outcome() string {
	switch {
	case c.forgets:
		return "the key may have been forgotten"
	case c.sent:
		return "the events may have been counted"
	}
	return "nothing was counted"
}

func newCall(ctx context.Context, r weir.Request, found *Entry) *call {
	c := &call{
		ctx: ctx, plan: r.Plan, ask: r.Ask, forgets: r.Forget,
		since: time.Now(), done: make(chan struct{}), sent: r.Forget,
	}
	if found != nil {
		entry := *found
		c.found = &entry
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

// finish ends the call. It requires that the mutex of the line is held.
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

// decide makes the decision on h, and returns its instant. If the policy or the limiter's clock
// panics, only this call gets an error.
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
	if now = clock.Instant(server); server.IsZero() {
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
