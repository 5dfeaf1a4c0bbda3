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

// lines make the callers of this process that want to replace the state of a key wait in line,
// because only one of them at a time could succeed. Each key has its own line while a caller is in
// it.
type lines struct {
	mu    sync.Mutex
	byKey map[string]*line
}

// A line holds the callers that want to replace the state of one key. They take turns in the order
// of their arrival.
type line struct {
	key     string
	callers int // number of callers in the line. The mutex of the lines guards it.
	turn    chan struct{}
	born    time.Time
	replied atomic.Int64 // the latest reply of the server in any turn, in nanoseconds since born
	state   reply        // the latest known state. Only the caller whose turn it is may use it.
}

// enter returns when it is the caller's turn, which ends with leave.
//
// It returns an error if the turn does not come by the instant until. The error wraps ErrRequest if
// other callers are being served: the server is then well, but too many callers change the key at
// once. If there was no reply for half of the time, all of them wait for a server that hangs.
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

// heard records a reply in the current turn, and the state in it.
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
