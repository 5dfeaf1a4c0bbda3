package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// patience is the default patience of a suite. The suite's own tests use less.
const patience = 20 * time.Second

// A watched store reports each step that was made on it.
type watched struct {
	weir.Store
	steps chan step
}

type step struct {
	weir.Ask
	weir.Answer
}

func (w *watched) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	a, err := w.Store.Do(ctx, r)
	w.steps <- step{r.Ask, a}
	return a, err
}

// A waiter is a call of Wait in progress.
type waiter struct {
	env    *env
	cancel context.CancelFunc
	err    chan error
}

// wait calls Wait in a goroutine.
func (e *env) wait(ctx context.Context, l limiter, key string, n int) *waiter {
	ctx, cancel := context.WithCancel(ctx)
	e.Cleanup(cancel)
	w := &waiter{e, cancel, make(chan error, 1)}
	go func() { w.err <- l.Wait(ctx, key, n) }()
	return w
}

// returns checks that Wait returns now, with an error that wraps want, or nil.
func (w *waiter) returns(want error) {
	w.env.Helper()
	if err := receive(w.env, w.err, "Wait's return"); !errors.Is(err, want) {
		w.env.Fatalf("%s: Wait returned the error %v, want %v", bookingRule, err, want)
	}
}

func receive[T any](e *env, c <-chan T, what string) T {
	e.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(e.patience):
		e.Fatalf("%s: waited %v in vain for %s", bookingRule, e.patience, what)
		panic("not reached")
	}
}

// watch returns a limiter whose steps can be observed.
func (e *env) watch(p weir.Policy) (limiter, <-chan step) {
	w := &watched{e.store, make(chan step, 1000)}
	return e.limiterOn(w, p, ""), w.steps
}

// Booking: a policy that can book grants an ask with MaxWait for a later instant. Giving the events
// back undoes that completely. A request that waits in a queue with a single place keeps the next
// one out. When it gives up, the place is free.
func bookingGivenUp(e *env) {
	e.each(shapes(10, e.long()), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		e.exhaust(l, "k", 10)
		before := e.take(l, "k", 0)
		ask := weir.Ask{N: 3, MaxWait: weir.Never}
		a, undo := e.named(l, "k", ask)
		if want := books(p); a.Allowed != want || (a.Delay > 0) != want {
			e.Fatalf("%s: %+v of an exhausted key: %+v, want it to be granted ahead: %v", bookingRule, ask, a, want)
		}
		if a.Allowed {
			e.do(l, "k", undo)
		}
		if after := e.take(l, "k", 0); !e.same(before, after) {
			e.Fatalf("%s: booking and giving back changed %+v to %+v", bookingRule, before, after)
		}
	})

	l, steps := e.watch(weir.LeakyBucket{Limit: 1, Per: e.long(), Capacity: 1})
	e.take(l, "k", 1)
	receive(e, steps, "a step of Take")
	for range 3 {
		first := e.wait(context.Background(), l, "k", 1)
		if s := receive(e, steps, "a step of Wait"); !s.Allowed || s.Delay <= 0 {
			e.Fatalf("%s: the only place in the queue was free, and asking for it %+v", bookingRule, s.Answer)
		}
		e.wait(context.Background(), l, "k", 1).returns(weir.ErrQueueFull)
		receive(e, steps, "a step of the second Wait")
		first.cancel()
		first.returns(context.Canceled)
		if s := receive(e, steps, "a step that gives back"); s.N != -1 || s.Delay <= 0 {
			e.Fatalf("%s: giving back a place let those behind it move up by %v: %+v", bookingRule, s.Delay, s)
		}
	}
}

// named calls do for events, and returns the ask that gives them back by their charges.
func (e *env) named(l limiter, key string, ask weir.Ask) (a weir.Answer, undo weir.Ask) {
	e.Helper()
	charges := new([]weir.Charge)
	ask.Charges = charges
	a = e.do(l, key, ask)
	if len(*charges) == 0 {
		*charges = []weir.Charge{{N: ask.N, For: a.ResetAfter}}
	}
	return a, weir.Ask{N: -ask.N, GrantedAt: a.At, Charges: charges}
}

// books reports whether the policy grants events ahead.
func books(p weir.Policy) bool {
	_, tokens := p.(weir.TokenBucket)
	return tokens || isQueue(p)
}

// Booking: a request that gives up leaves no trace. The next one gets its instant, and the one
// before it keeps its own.
func bookingInLine(e *env) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: time.Second},
		weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 5},
	} {
		l, steps := e.watch(p)
		key := fmt.Sprintf("%T", p)
		e.take(l, key, 1)
		receive(e, steps, "a step of Take")
		booked := func(want time.Duration) *waiter {
			w := e.wait(context.Background(), l, key, 1)
			if s := receive(e, steps, "a step of Wait"); !s.Allowed || e.up(s.Delay) != want {
				e.Fatalf("%s: %#v: Wait booked %+v, want a Delay of %v", bookingRule, p, s.Answer, want)
			}
			return w
		}
		first := booked(time.Second)
		receive(e, e.clock.made, "a timer for the first in line")
		second := booked(2 * time.Second)
		second.cancel()
		second.returns(context.Canceled)
		receive(e, steps, "a step that gives back")
		third := booked(2 * time.Second)
		third.cancel()
		third.returns(context.Canceled)
		receive(e, steps, "a step that gives back")

		e.advance(time.Second)
		first.returns(nil)
		if r := e.take(l, key, 1); r.Allowed || e.up(r.RetryAfter) != time.Second {
			e.Fatalf("%s: %#v: after the turn of the one who stayed: %+v, want to be denied for 1s", bookingRule, p, r)
		}
		receive(e, steps, "a step of Take")
	}
}

// Booking: a Wait whose turn would come after its deadline fails, and counts nothing.
func bookingTooLate(e *env) {
	e.each(every(10, 10*time.Second), func(e *env, p weir.Policy) {
		l := e.timed(e.store, p)
		e.exhaust(l, "k", 10)
		before := e.take(l, "k", 0)
		wait := e.up(e.take(l, "k", 1).RetryAfter)
		ctx := deadlined{context.Background(), e.clock.Now().Add(wait - e.tick)}
		e.wait(ctx, l, "k", 1).returns(weir.ErrTooLate)
		if after := e.take(l, "k", 0); !e.same(before, after) {
			e.Fatalf("%s: a Wait that was too late changed %+v to %+v", bookingRule, before, after)
		}
	})
}

// Waiting: a waiting request is granted its event at the RetryAfter of a denial, and counts once.
func waitingIsServed(e *env) {
	const limit = 10
	e.each(every(limit, 10*time.Second), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		for _, key := range []string{"waits", "asks again"} {
			e.exhaust(l, key, limit)
		}
		opens := e.take(l, "asks again", 1).RetryAfter
		w := e.wait(context.Background(), l, "waits", 1)
		receive(e, e.clock.made, "a timer")
		e.advance(opens)
		w.returns(nil)
		e.take(l, "asks again", 1)
		if got, want := e.take(l, "waits", 0), e.take(l, "asks again", 0); got.Remaining != want.Remaining {
			e.Fatalf("%s: after waiting: %+v; after asking again at the same instant: %+v", bookingRule, got, want)
		}
	})
}

// Errors: the following are errors with the zero Result, and count nothing: an ask for a negative
// number, an ask whose context has ended, and a Wait for a number that never fits.
func errorsCountNothing(e *env) {
	const limit = 10
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	expired, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	e.each(every(limit, e.long()), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		for _, used := range []int{0, 3} {
			e.take(l, "k", used)
			before := e.take(l, "k", 0)
			for _, c := range []struct {
				rule string
				ctx  context.Context
				n    int
				want error // nil for any error
			}{
				{r3, context.Background(), -1, nil},
				{errorsRule, canceled, 1, context.Canceled},
				{errorsRule, canceled, 0, context.Canceled},
				{errorsRule, expired, 1, context.DeadlineExceeded},
			} {
				r, err := l.Take(c.ctx, "k", c.n)
				if err == nil || r != (weir.Result{}) || c.want != nil && !errors.Is(err, c.want) {
					e.Fatalf("%s: Take of %d returned %+v and the error %v", c.rule, c.n, r, err)
				}
				err = receive(e, e.wait(c.ctx, l, "k", c.n).err, "an error of Wait")
				if err == nil || c.want != nil && !errors.Is(err, c.want) {
					e.Fatalf("%s: Wait for %d returned the error %v", c.rule, c.n, err)
				}
			}
			e.wait(context.Background(), l, "k", before.Limit+1).returns(weir.ErrNeverFits)
			if after := e.take(l, "k", 0); !e.same(before, after) {
				e.Fatalf("%s: errors changed %+v to %+v", errorsRule, before, after)
			}
		}
	})
}
