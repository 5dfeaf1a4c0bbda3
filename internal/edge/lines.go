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
// theirs.
//
// A line to which callers come faster than they pass one at a time is never empty: the limiter may
// be over a network, and allow more than one in a round trip. Or it allows fewer than come, and has
// to refuse some. Therefore, when those that were held back have gone, and the line is twice as
// long as it was, the others go together again.
//
// The zero value is ready for use.
type lines struct {
	mu    sync.Mutex
	byKey map[string]*line
}

// A line are the callers of a key.
type line struct {
	first, last *turn
	size        int

	single bool  // whether the callers go one at a time
	held   *turn // if so: the last of those that were held back; nil when they have gone
	most   int   // if so: the size when the last of them came
}

// A turn is the place of a caller in a line.
type turn struct {
	before, behind *turn
	up             chan struct{}      // closed when it is its turn; nil if it does not wait for that
	cancel         context.CancelFunc // ends its wait for the limiter; nil if it does not wait for it
	placed         bool               // whether the limiter knows of that wait, and the next may ask
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
	of.size++
	of.loosen()
	return t
}

// leave takes t out of the line. It may then be the turn of the one behind.
func (l *lines) leave(key string, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.byKey[key]
	if of.size--; of.size == 0 {
		delete(l.byKey, key)
		return
	}
	if t.behind != nil {
		t.behind.before = t.before
	} else {
		of.last = t.before
	}
	if t.before != nil {
		t.before.behind = t.behind
	} else {
		of.first = t.behind
	}
	if t == of.held {
		of.held = t.before
	}
	of.loosen()
	of.wake(t.behind)
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
			t.cancel, t.placed = nil, false
		}
		if of.single { // the others do not wait for the limiter
			break
		}
	}
	of.single, of.held, of.most = true, of.last, of.size
}

// loosen lets the callers go together again if they come faster than they pass one at a time.
func (of *line) loosen() {
	if of.single && of.held == nil && of.size > 2*of.most {
		of.single = false
		of.wake(of.first.behind)
	}
}

// wake wakes t if it waits and may ask.
func (of *line) wake(t *turn) {
	if t != nil && t.up != nil && of.mayAsk(t) {
		close(t.up)
		t.up = nil
	}
}

// mayAsk reports whether t may ask the limiter: if it is the first, or if those before it have
// their places at the limiter, and do not go one at a time. If it asked before they have their
// places, chance would decide on the order.
func (of *line) mayAsk(t *turn) bool {
	return t.before == nil || !of.single && t.before.placed
}

// ask notes that t waits for the limiter, and how to end that. It reports false if it is not its
// turn.
func (l *lines) ask(key string, t *turn, cancel context.CancelFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.byKey[key]
	if !of.mayAsk(t) {
		return false
	}
	t.cancel = cancel
	return true
}

// place notes that t has its place at the limiter. It may then be the turn of the next, too. It
// does nothing if t no longer waits for the limiter.
func (l *lines) place(key string, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.cancel != nil && !t.placed {
		t.placed = true
		l.byKey[key].wake(t.behind)
	}
}

// asked notes that t no longer waits for the limiter. It reports whether t may pass if the limiter
// allows it, and whether stop has ended the wait.
func (l *lines) asked(key string, t *turn) (mayPass, stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stopped = t.cancel == nil
	t.cancel, t.placed = nil, false
	return t.before == nil || !l.byKey[key].single, stopped
}

// wait returns when it is the turn of t, or with the error of ctx.
func (l *lines) wait(ctx context.Context, key string, t *turn) error {
	l.mu.Lock()
	if l.byKey[key].mayAsk(t) {
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
