package casstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// A line holds the callers that ask for one key. While there are any, a goroutine decides for them,
// in rounds: see [line.decide].
type line struct {
	store *Store
	key   string

	// Of the goroutine:
	round []*call // some may have left
	ctx   context.Context
	found *Entry // what the key held at the end of the last round; nil if that is not known

	mu      sync.Mutex // guards the fields below, and the fields of the calls that say so
	waiting []*call    // not yet in a round
	gone    int        // how many of them have left
	here    int        // how many of the round have not left
	cancel  context.CancelCauseFunc
	heard   time.Time // of the last reply of the Register, or when the line began
	replies int       // of the Register so far
}

// join adds a call to the line of a key. A call that forgets the key gets a line of its own.
func (s *Store) join(key string, c *call) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil || c.forgets {
		l = &line{store: s, key: key, heard: c.since, waiting: []*call{c}}
		if !c.forgets {
			s.lines[key] = l
		}
		go l.run()
		return l
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.replies = l.replies
	l.waiting = append(l.waiting, c)
	return l
}

// leave is for a caller that gives up. It returns the caller's error, or nil if the call has an
// answer meanwhile.
func (l *line) leave(c *call, cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.answered {
		return nil
	}
	c.left = true
	if c.inRound {
		if l.here--; l.here == 0 {
			ended := cause
			if errors.Is(cause, ErrNoReply) {
				ended = ErrNoReply // itself: a cause that wraps it can be of a caller's context
			}
			l.cancel(ended)
		}
	} else if l.gone++; 2*l.gone > len(l.waiting) { // while a Register hangs they must not pile up
		l.waiting, l.gone = slices.DeleteFunc(l.waiting, (*call).hasLeft), 0
	}
	outcome := c.outcome()
	switch works := l.works(c); {
	case works && !c.sent:
		return fmt.Errorf("%w: %w, %s: %w", weir.ErrRequest, ErrBusy, outcome, cause)
	case works || !c.sent && errors.Is(cause, context.Canceled):
		return fmt.Errorf("%w: %s: %w", weir.ErrRequest, outcome, cause)
	}
	return fmt.Errorf("%s: %w", outcome, cause)
}

// works reports whether the server works, so that only other requests can have kept c from its
// answer. This is so if the server is not silent now, and since c came has sent as many replies as
// c alone would have needed. works requires that l.mu is held.
func (l *line) works(c *call) bool {
	needs := 2 // a Get and a Swap
	if c.found != nil {
		needs = 1
	}
	return l.replies-c.replies >= needs && time.Since(l.heard) < time.Since(c.since)/2
}

// run decides for the callers until none is left.
func (l *line) run() {
	returned := false
	defer func() { // a method of the Register may have panicked, or ended the goroutine
		if returned {
			return
		}
		err := errors.New("the Register or the policy ended the goroutine")
		if p := recover(); p != nil {
			err = fmt.Errorf("the Register panicked: %v\n%s", p, debug.Stack())
		}
		l.end(err)
		l.found = nil
		go l.run()
	}()
	for l.begin() {
		l.end(l.decide())
	}
	returned = true
}

// begin begins a round with all waiting calls. If there are none, it removes the line and returns
// false.
func (l *line) begin() bool {
	if l.take() {
		return true
	}
	s := l.store
	s.mu.Lock() // nobody can come now
	defer s.mu.Unlock()
	if l.take() {
		return true
	}
	if s.lines[l.key] == l {
		delete(s.lines, l.key)
	}
	return false
}

// take moves the waiting calls into the round, and begins the round if it was empty. It reports
// whether any call in the round still waits for an answer.
func (l *line) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.round) > 0 && l.here == 0 { // the context of the round has ended: waiting calls get a new round
		return false
	}
	begins := len(l.round) == 0
	for _, c := range l.waiting {
		if !c.left {
			c.inRound = true
			l.round = append(l.round, c)
			l.here++
		}
	}
	clear(l.waiting)
	l.waiting, l.gone = l.waiting[:0], 0
	if begins && l.here > 0 {
		l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(l.round[0].ctx))
	}
	return l.here > 0
}

// send marks the calls of the round as sent. Calls whose callers have left are removed from the
// round. It reports whether any caller remains.
func (l *line) send() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.round = slices.DeleteFunc(l.round, (*call).hasLeft)
	for _, c := range l.round {
		c.sent = true
	}
	return l.here > 0
}

// wasRead notes that the value was read after the calls of the round had come.
func (l *line) wasRead() {
	for _, c := range l.round {
		c.read = true
	}
}

// putBack moves the calls for which the value was not read from the round to the head of those that
// wait.
func (l *line) putBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	var back []*call
	l.round = slices.DeleteFunc(l.round, func(c *call) bool {
		if c.read {
			return false
		}
		if !c.left {
			c.inRound, c.sent = false, false
			l.here--
			back = append(back, c)
		}
		return true
	})
	l.waiting = append(back, l.waiting...)
}

// hear notes that the Register has replied.
func (l *line) hear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = time.Now()
	l.replies++
}

// end ends the round. The calls have their answers, or all have the error.
func (l *line) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.round {
		if err == nil || errors.Is(err, weir.ErrRequest) { // which says that nothing was decided
			c.finish(cmp.Or(err, c.err))
			continue
		}
		c.finish(fmt.Errorf("%s: %w", c.outcome(), err))
	}
	clear(l.round)
	l.round, l.here = l.round[:0], 0
	l.cancel(nil)
}

// lost notes that another process was faster. A call that has lost too often ends with an error.
func (l *line) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.round = slices.DeleteFunc(l.round, func(c *call) bool {
		c.sent = false
		if c.attempts++; c.attempts < maxAttempts {
			return false
		}
		if !c.left {
			l.here--
		}
		c.finish(fmt.Errorf("%w: %w: another request changed the value under each of %d attempts",
			weir.ErrRequest, ErrBusy, maxAttempts))
		return true
	})
}
