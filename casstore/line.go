package casstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// A line holds the callers that ask for one key. While there are any, a goroutine decides for them,
// in rounds: it takes all that wait, reads the value once, decides for each in the order of their
// arrival, and swaps the value once.
//
// The mutex of the store guards all fields up to the empty line. The others belong to the
// goroutine.
type line struct {
	store   *Store
	key     string
	waiting []*call // not yet in a round
	round   []*call // in the round, without those that have left
	cancel  context.CancelCauseFunc
	heard   time.Time // of the last reply of the Register, or when the line began

	ctx   context.Context // of the round
	found *Entry          // what the key held at the end of the last round; nil if that is not known
}

// join adds a call to the line of a key. What forgets the key has a line of its own.
func (s *Store) join(key string, c *call) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil || c.forgets {
		l = &line{store: s, key: key, heard: time.Now()}
		if !c.forgets {
			s.lines[key] = l
		}
		go l.run()
	}
	l.waiting = append(l.waiting, c)
	return l
}

// leave takes the call of a caller that gives up out of the line. It returns the caller's error, or
// nil if the call has an answer meanwhile.
func (l *line) leave(c *call, cause error) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if c.answered {
		return nil
	}
	if i := slices.Index(l.round, c); i >= 0 {
		l.round = slices.Delete(slices.Clone(l.round), i, i+1)
		if len(l.round) == 0 {
			l.cancel(cause)
		}
	} else if i := slices.Index(l.waiting, c); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	outcome := "nothing was counted"
	if c.sent {
		outcome = "the events may have been counted"
	}
	waited := time.Since(c.since)
	silent := min(waited, time.Since(l.heard)) // if for long, the server hangs
	switch {
	case silent < waited/2 && !c.sent:
		return fmt.Errorf("%w: %w, %s: %w", weir.ErrRequest, ErrBusy, outcome, cause)
	case silent < waited/2 || !c.sent && errors.Is(cause, context.Canceled):
		return fmt.Errorf("%w: %s: %w", weir.ErrRequest, outcome, cause)
	}
	return fmt.Errorf("%s: %w", outcome, cause)
}

// run decides for the callers until none is left.
func (l *line) run() {
	returned := false
	defer func() { // a method of the Register, or of a policy, may have panicked, or ended the goroutine
		if returned {
			return
		}
		err := errors.New("the Register or the policy ended the goroutine")
		if p := recover(); p != nil {
			err = fmt.Errorf("the Register or the policy panicked: %v\n%s", p, debug.Stack())
		}
		l.cancel(err)
		l.end(err)
		l.found = nil
		go l.run()
	}()
	for l.begin() {
		l.decide()
		l.cancel(nil)
	}
	returned = true
}

// begin begins a round with all who wait. It reports false if there are none, and the line is no
// more.
func (l *line) begin() bool {
	s := l.store
	s.mu.Lock()
	defer s.mu.Unlock()
	l.round, l.waiting = l.waiting, nil
	if len(l.round) == 0 {
		if s.lines[l.key] == l {
			delete(s.lines, l.key)
		}
		return false
	}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(l.round[0].ctx))
	return true
}

// absorb takes those who wait into the round, unless all of the round have left.
func (l *line) absorb() bool {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if len(l.round) == 0 {
		return false
	}
	l.round = append(slices.Clip(l.round), l.waiting...)
	l.waiting = nil
	return true
}

// mark marks the calls of the round as sent or not, and returns them.
func (l *line) mark(sent bool) []*call {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	for _, c := range l.round {
		c.sent = sent
	}
	return l.round
}

// hear notes that the Register has replied.
func (l *line) hear() {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.heard = time.Now()
}

// end ends the round: the calls have their answers, or all have the error.
func (l *line) end(err error) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	for _, c := range l.round {
		c.finish(cmp.Or(err, c.err))
	}
	l.round = nil
}

// maxAttempts bounds how often other processes may have changed the value before a decision fails.
const maxAttempts = 100

// decide makes a round.
//
// What the last round has left may be out of date, and is used only if a Swap then shows that it
// was not. It never is if the server has a clock: its time would be from before the callers came.
func (l *line) decide() {
	if l.round[0].forgets { // it is alone
		l.end(l.store.register.Delete(l.ctx, l.key))
		return
	}
	found, sure := l.found, false
	if l.found = nil; len(l.round) == 1 && l.round[0].found != nil {
		found, sure = l.round[0].found, true
	}
	for attempt := 1; ; attempt++ {
		if found == nil {
			if !l.absorb() {
				return
			}
			entry, err := l.store.register.Get(l.ctx, l.key)
			if err != nil {
				l.end(err)
				return
			}
			l.hear()
			found, sure = &entry, true
		}
		// From here on, a caller that leaves is told that its events may have been counted.
		d := decision{entry: *found}
		switch err := d.decide(&l.store.policies, l.mark(true)); {
		case err != nil || !d.changed && sure:
			l.end(err)
			return
		case !d.changed:
			l.mark(false)
			found = nil
			continue
		}
		now, ok, err := l.store.register.Swap(l.ctx, l.key, *found, d.value, d.keep)
		if err != nil {
			l.end(err)
			return
		}
		l.hear()
		if sure = true; now.Now.IsZero() == found.Now.IsZero() && (now.Version != nil || len(now.Value) > 0) {
			found = &now
		} else {
			found = nil
		}
		if ok {
			if found != nil && found.Now.IsZero() {
				l.found = found
			}
			l.end(nil)
			return
		}
		if l.lost(); !l.pause(attempt) {
			return
		}
		if attempt > 3 { // the pauses are longer than a millisecond, and it is probably out of date
			found = nil
		}
	}
}

// lost notes that another process was faster. A call that has lost too often ends with an error.
func (l *line) lost() {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	var left []*call
	for _, c := range l.round {
		if c.attempts++; c.attempts < maxAttempts {
			c.sent = false
			left = append(left, c)
			continue
		}
		c.finish(fmt.Errorf("%w: %w: another process changed the value under each of %d attempts",
			weir.ErrRequest, ErrBusy, maxAttempts))
	}
	l.round = left
}

// pause waits before the next attempt. The processes that compete wait differently long. It reports
// false if no caller is left.
func (l *line) pause(attempt int) bool {
	longest := min(100*time.Microsecond<<min(attempt, 8), 10*time.Millisecond)
	timer := time.NewTimer(rand.N(longest))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	return len(l.round) > 0
}
