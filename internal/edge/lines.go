package edge

import (
	"context"
	"slices"
	"sync"
)

// lines are the callers that come while their key is held back, and the callers that come while
// such callers are still waiting. They go to the limiter one at a time, in the order in which they
// came. If they all went when the hold ends, chance would decide on their order, and a short queue
// of the limiter would refuse most of them. The zero value is ready for use.
type lines struct {
	mu    sync.Mutex
	came  uint64             // callers, so far
	byKey map[string][]*turn // in the order in which they came; the first of each has its turn
}

// A turn is the place of a caller in a line.
type turn struct {
	came uint64
	up   chan struct{} // closed when it has its turn; nil if it has it
}

// arrive notes that a caller has come, and returns its place in the order.
func (l *lines) arrive() *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.came++
	return &turn{came: l.came}
}

// isEmpty reports whether no one stands in the line of key.
func (l *lines) isEmpty(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byKey[key]) == 0
}

// join puts t into the line of key, in front of those who came later. The first of them may have
// had its turn already. It loses it until t has left.
func (l *lines) join(key string, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.byKey[key]
	at := len(line)
	for at > 0 && line[at-1].came > t.came {
		at--
	}
	if at > 0 {
		t.up = make(chan struct{})
	} else if len(line) > 0 {
		line[0].up = make(chan struct{})
	}
	if l.byKey == nil {
		l.byKey = make(map[string][]*turn)
	}
	l.byKey[key] = slices.Insert(line, at, t)
}

// isUp reports whether t has its turn.
func (l *lines) isUp(t *turn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.up == nil
}

// wait returns when t has its turn, or with the error of ctx.
func (l *lines) wait(ctx context.Context, t *turn) error {
	l.mu.Lock()
	up := t.up
	l.mu.Unlock()
	if up == nil {
		return nil
	}
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave takes t out of the line. If it had its turn, the next has it.
func (l *lines) leave(key string, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.byKey[key]
	at := slices.Index(line, t)
	line = slices.Delete(line, at, at+1)
	if len(line) == 0 {
		delete(l.byKey, key)
		return
	}
	l.byKey[key] = line
	if at == 0 {
		close(line[0].up)
		line[0].up = nil
	}
}
