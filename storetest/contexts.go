package storetest

import (
	"context"
	"time"

	"github.com/weir-go/weir"
)

// A deadlined context has a deadline by the clock of the test, for the limiter, which has the same
// clock. The context never ends by itself.
type deadlined struct {
	context.Context
	at time.Time
}

type deadlineKey struct{}

func (d deadlined) Deadline() (time.Time, bool) { return d.at, true }

func (d deadlined) Value(key any) any {
	if key == (deadlineKey{}) {
		return d.at
	}
	return d.Context.Value(key)
}

// A bearable store hides deadlines from the store behind it, if they are by the clock of the test.
// Clients of databases compare a deadline with real time. They would refuse such a context, or wait
// too long.
type bearable struct{ weir.Store }

func (b bearable) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if at, ok := ctx.Value(deadlineKey{}).(time.Time); ok {
		if deadline, ok := ctx.Deadline(); ok && deadline.Equal(at) {
			ctx = undeadlined{ctx}
		}
	}
	return b.Store.Do(ctx, r)
}

// Accept implements weir.Acceptor, as the store behind may.
func (b bearable) Accept(l *weir.KeyedLimiter) error { return weir.Accept(b.Store, l) }

// An undeadlined context is another one without its deadline. It still ends when that one does.
type undeadlined struct{ context.Context }

func (undeadlined) Deadline() (time.Time, bool) { return time.Time{}, false }
