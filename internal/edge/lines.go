package edge

import (
	"context"
	"strings"
	"sync"
)

// lines are the callers that have not passed yet, in the order in which they came. Those of a key
// wait for the limiter together. When the key is held back, they stop, and from then on go to the
// limiter one at a time, until none is left. If they all went when the hold ends, chance would
// decide on their order, and a short queue of the limiter would refuse most of them. If some had
// kept their places at the limiter, they would pass before others that came earlier and have lost
// theirs. The zero value is ready for use.
type lines struct {
	mu    sync.Mutex
	byKey map[string]*line
}

// A line are the callers of a key.
type line struct {
	first, last *turn
	single      bool // whether the callers go one at a time
}

// A turn is the place of a caller in a line.
type turn struct {
	before, behind *turn
	up             chan struct{}      // closed when it is its turn; nil if it does not wait for that
	cancel         context.CancelFunc // ends its wait for the limiter; nil if it does not wait for it
}

// join puts a caller at the end of the line of key.
func (l *lines) join(key string) *turn {
	t := new(turn)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		l.byKey = make(map[string]*line)
	}
	of := l.byKey[key]
	if of == nil {
		of = &line{first: t}
		l.byKey[strings.Clone(key)] = of // the line may outlast the caller, and the memory of its key
	} else {
		t.before, of.last.behind = of.last, t
	}
	of.last = t
	return t
}

// leave takes t out of the line. If it was the first, it is the turn of the next.
func (l *lines) leave(key string, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.byKey[key]
	if t.behind != nil {
		t.behind.before = t.before
	} else {
		of.last = t.before
	}
	if t.before != nil {
		t.before.behind = t.behind
		return
	}
	of.first = t.behind
	switch next := of.first; {
	case next == nil:
		delete(l.byKey, key)
	case next.up != nil:
		close(next.up)
		next.up = nil
	}
}

// stop ends the waits for the limiter. From then on the callers of key go one at a time.
func (l *lines) stop(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.byKey[key]
	if of == nil {
		return
	}
	for t := of.first; t != nil; t = t.behind {
		if t.cancel != nil {
			t.cancel()
			t.cancel = nil
		}
		if of.single { // the others do not wait for the limiter
			return
		}
	}
	of.single = true
}

// ask notes that t waits for the limiter, and how to end that. It reports false if it is not its
// turn.
func (l *lines) ask(key string, t *turn, cancel context.CancelFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isUp(key, t) {
		return false
	}
	t.cancel = cancel
	return true
}

// asked notes that t no longer waits for the limiter. It reports whether it is its turn, and
// whether stop has ended the wait.
func (l *lines) asked(key string, t *turn) (isUp, stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stopped = t.cancel == nil
	t.cancel = nil
	return l.isUp(key, t), stopped
}

// wait returns when it is the turn of t, or with the error of ctx.
func (l *lines) wait(ctx context.Context, key string, t *turn) error {
	l.mu.Lock()
	if l.isUp(key, t) {
		l.mu.Unlock()
		return nil
	}
	if t.up == nil {
		t.up = make(chan struct{})
	}
	up := t.up
	l.mu.Unlock()
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isUp reports whether it is the turn of t. The caller holds the lock.
func (l *lines) isUp(key string, t *turn) bool { return t.before == nil || !l.byKey[key].single }
