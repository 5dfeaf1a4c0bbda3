package script

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// lines are where those of this process wait who want to replace the state of a key: of one key only one at a
// time could succeed. Each key has a line of its own, for as long as someone is in it.
type lines struct {
	mu    sync.Mutex
	byKey map[string]*line
}

// A line is of those who want to replace the state of one key. They have their turns in the order in which
// they came.
type line struct {
	key     string
	callers int // in the line. Guarded by the mutex of the lines.
	turn    chan struct{}
	born    time.Time
	replied atomic.Int64 // when the server did last, to those whose turn it was: nanoseconds since born
	state   reply        // the latest that they know of. It belongs to the one whose turn it is.
}

// enter returns when it is the caller's turn, which ends with leave.
//
// Who has no turn by the instant until gets an error. It wraps ErrRequest if others are being served, for
// then the server is well, and it is the key that too many change at once. If there was no reply for half
// of the time, they all wait for a server that hangs.
func (ls *lines) enter(ctx context.Context, key string, until time.Time) (*line, error) {
	l := ls.join(key)
	select {
	case l.turn <- struct{}{}:
		return l, nil
	default:
	}
	began := time.Now()
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	var err error
	select {
	case l.turn <- struct{}{}:
		return l, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = fmt.Errorf("%w: others of this process were deciding on the key", ErrBusy)
	}
	waited := time.Since(began)
	silent := min(waited, time.Since(l.born)-time.Duration(l.replied.Load()))
	if silent < waited/2 || errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: %w", weir.ErrRequest, err)
	}
	ls.part(l)
	return nil, err
}

// heard notes a reply to the one whose turn it is, and what the state is by it.
func (l *line) heard(state reply) {
	l.state = state
	l.replied.Store(int64(time.Since(l.born)))
}

// leave ends a turn.
func (ls *lines) leave(l *line) {
	<-l.turn
	ls.part(l)
}

func (ls *lines) join(key string) *line {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byKey[key]
	if l == nil {
		if ls.byKey == nil {
			ls.byKey = map[string]*line{}
		}
		l = &line{key: key, turn: make(chan struct{}, 1), born: time.Now()}
		ls.byKey[key] = l
	}
	l.callers++
	return l
}

func (ls *lines) part(l *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.callers--; l.callers == 0 {
		delete(ls.byKey, l.key)
	}
}
