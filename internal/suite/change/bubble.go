package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir"
)

// A waiter is a call of Wait in a bubble.
type waiter struct {
	Step
	cancel  context.CancelFunc
	done    atomic.Bool // at and err are final
	at      int64
	err     error
	settled bool // its end has been recorded
}

// A crowd is the waiters of a trial, in the order in which they came.
type crowd struct {
	*world
	waiters []*waiter
	hurried bool     // there were steps that did not let those who wait run: it is then not known by which policy they were granted
	alone   [2]int64 // when all waiters for a key have booked
	changed int64    // the policy, at the latest, or when another policy was charged
}

// bubble plays a trial in a testing/synctest bubble.
func (s *Suite) bubble(t *Trial) (v *violation, answers []answer) {
	synctest.Test(s.t, func(*testing.T) {
		c := &crowd{world: newWorld(t, s, nil)}
		defer c.end()
		for _, step := range t.Steps {
			if v = c.play(step); v != nil {
				break
			}
		}
		if v == nil {
			v = c.allReturn()
		}
		answers = c.answers
	})
	return v, answers
}

// play plays one step, and lets all its effects happen.
func (c *crowd) play(s Step) *violation {
	var a answer
	was, h := c.current, c.held[s.Of]
	switch s.Op {
	case opAdvance:
		a = answer{Step: s}
		time.Sleep(s.D)
	case opRetry:
		a = answer{Step: s, skipped: c.retry <= 0 || c.retry > maxRetry}
		if !a.skipped {
			time.Sleep(max(c.retry+s.D, 0))
		}
		c.retry = 0
	case opWait:
		a = answer{Step: s}
		c.wait(s)
	case opGiveUp:
		a = answer{Step: s, skipped: true}
		for _, w := range c.waiters {
			if w.ID == s.Of && !w.done.Load() {
				w.cancel()
				a.skipped = false
			}
		}
	default:
		a = c.do(s)
	}
	a.at = c.now()
	settlesMore := s.Op == opSettle && h != nil && s.N > h.n // by the policy that reserved
	if c.current != was || settlesMore && h.by != c.current {
		c.changed = a.at
	}
	c.answers = append(c.answers, a)
	if c.hurried = c.hurried || s.Hurry; !s.Hurry {
		synctest.Wait()
	}
	if a.err != nil && !(s.Ended && errors.Is(a.err, context.Canceled)) {
		return &violation{"no call fails", s.ID, a.err.Error()}
	}
	if why := r20AllNeverBooks(c.world, &a); why != "" && c.suite.counts("R20 All never books ahead") {
		return &violation{"R20 All never books ahead", s.ID, why}
	}
	if a.granted > 0 {
		if why := c.ledger(s).spans(); why != "" && !c.hurried && c.suite.counts(overASpanRule) {
			return &violation{overASpanRule, s.ID, why}
		}
	}
	if s.Hurry {
		return nil
	}
	if c.booking(); c.suite.counts(allBookRule) {
		if why := c.r20AllBook(); why != "" {
			return &violation{allBookRule, s.ID, why}
		}
	}
	return c.collect(s.ID)
}

// wait starts a waiter.
func (c *crowd) wait(s Step) {
	w := &waiter{Step: s}
	ctx := context.Context(call{Context: context.Background(), by: c.policies[s.By]})
	if s.D >= 0 {
		ctx, w.cancel = context.WithTimeout(ctx, s.D)
	} else {
		ctx, w.cancel = context.WithCancel(ctx)
	}
	k := c.limiter(s.By)
	c.waiters = append(c.waiters, w)
	go func() {
		w.err = k.Wait(ctx, key(s), s.N)
		w.at = time.Now().UnixNano()
		w.done.Store(true)
	}()
}

// collect records the waiters whose Wait has returned, and checks the rules.
func (c *crowd) collect(step int) *violation {
	var gone []*waiter
	for _, w := range c.waiters {
		if w.done.Load() && !w.settled {
			w.settled = true
			gone = append(gone, w)
		}
	}
	slices.SortStableFunc(gone, func(a, b *waiter) int { return cmp.Compare(a.at, b.at) })
	for _, w := range gone {
		switch {
		case w.err == nil:
			l := c.ledgers[w.Key]
			l.latest = &deed{at: w.at, n: w.N, by: c.current, booked: true}
			l.insert(l.latest)
			if why := l.spans(); why != "" && !c.hurried && c.suite.counts(overASpanRule) {
				return &violation{overASpanRule, step, fmt.Sprintf("w%d: %s", w.ID, why)}
			}
			if why := r18Order(c, w); why != "" && c.suite.counts("R18 arrival order") {
				return &violation{"R18 arrival order", step, why}
			}
		case errors.Is(w.err, weir.ErrTooLate), errors.Is(w.err, weir.ErrNeverFits), errors.Is(w.err, weir.ErrQueueFull),
			errors.Is(w.err, context.Canceled), errors.Is(w.err, context.DeadlineExceeded):
		default:
			return &violation{"no call fails", step, w.err.Error()}
		}
	}
	return nil
}

// Among the waiters for a key at one limiter, none is granted while an earlier one still waits.
// Several may be granted at one instant, and then run in any order.
func r18Order(c *crowd, w *waiter) string {
	for _, before := range c.waiters {
		if before == w {
			break
		}
		if before.Key == w.Key && (!before.done.Load() || before.at > w.at) {
			return fmt.Sprintf("w%d was granted at %s, and w%d, which came before, was still waiting", w.ID, instant(w.at), before.ID)
		}
	}
	return ""
}

// allReturn lets enough time pass for every waiter to have its turn: R14, no key denies forever.
func (c *crowd) allReturn() *violation {
	longest, events := int64(0), 4
	for _, p := range c.Policies {
		longest = max(longest, p.span())
	}
	for _, s := range c.Steps {
		if s.N < 1<<20 {
			events += s.N
		}
	}
	time.Sleep(time.Duration(min(float64(longest)*float64(events), 1e18)))
	synctest.Wait()
	if v := c.collect(0); v != nil {
		return v
	}
	for _, w := range c.waiters {
		if !w.done.Load() {
			return &violation{"R14 nobody waits for ever", w.ID, fmt.Sprintf("w%d still waits at the end", w.ID)}
		}
	}
	return nil
}

// end ends all waiters in the bubble.
func (c *crowd) end() {
	for _, w := range c.waiters {
		w.cancel()
	}
	synctest.Wait()
}
