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
	byKey map[string][]*turn // the first of each has its turn
}

// A turn is the place of a caller in a line.
type turn struct {
	came uint64
	now  chan struct{} // closed when it has its turn
}

// arrive notes that a caller has come, and returns its place in the order.
func (l *lines) arrive() *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.came++
	return &turn{came: l.came, now: make(chan struct{})}
}

// isEmpty reports whether no one stands in the line of key.
func (l *lines) isEmpty(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byKey[key]) == 0
}

// join returns when t has its turn, which it then keeps until it leaves. On an error it has none.
func (l *lines) join(ctx context.Context, key string, t *turn) error {
	l.mu.Lock()
	line := l.byKey[key]
	if len(line) == 0 {
		close(t.now)
	}
	at := len(line)
	for at > 1 && line[at-1].came > t.came { // the first has its turn already
		at--
	}
	if l.byKey == nil {
		l.byKey = make(map[string][]*turn)
	}
	l.byKey[key] = slices.Insert(line, at, t)
	l.mu.Unlock()

	select {
	case <-t.now:
		return nil
	case <-ctx.Done():
		l.leave(key, t)
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
		close(line[0].now)
	}
}
