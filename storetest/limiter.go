package storetest

import (
	"context"
	"errors"

	"github.com/weir-go/weir"
)

// A limiter is a weir.KeyedLimiter that lets cases also make requests that weir.KeyedLimiter does
// not make.
type limiter struct {
	*weir.KeyedLimiter
	plan  *weir.Plan
	store weir.Store
}

func (e *env) limiter(p weir.Policy, name string) limiter { return e.limiterOn(e.store, p, name) }

func (e *env) limiterOn(s weir.Store, p weir.Policy, name string) limiter {
	if e.realTime || e.bubble {
		return e.limiterWith(s, nil, p, name)
	}
	return e.limiterWith(s, e.clock, p, name)
}

// timed returns a limiter for calls whose contexts have deadlines by the clock of the test.
func (e *env) timed(s weir.Store, p weir.Policy) limiter {
	return e.limiterOn(bearable{s}, p, "")
}

// limiterWith makes a limiter. Its clock is the system's if c is nil.
func (e *env) limiterWith(s weir.Store, c weir.Clock, p weir.Policy, name string) limiter {
	e.Helper()
	with := func(s weir.Store) *weir.KeyedLimiter {
		opts := []weir.Option{weir.WithStore(s), weir.WithName(name)}
		if c != nil {
			opts = append(opts, weir.WithClock(c))
		}
		l, err := weir.New(p, opts...)
		if err != nil {
			e.Fatalf("New(%#v): %v", p, err)
		}
		return l
	}
	var catch planCatcher
	with(&catch).Allow("")
	return limiter{with(s), catch.plan, s}
}

// A planCatcher is a Store that keeps the Plan of the limiter that calls it.
type planCatcher struct{ plan *weir.Plan }

func (c *planCatcher) Do(_ context.Context, r weir.Request) (weir.Answer, error) {
	c.plan = r.Plan
	return weir.Answer{}, errors.New("no decision")
}

// do makes a request that Take can't make, and checks At and ServerTime, which Take doesn't return.
// It calls Helper only when it fails, as do all functions that are called most: Helper takes longer
// than a decision.
func (e *env) do(l limiter, key string, ask weir.Ask) weir.Answer {
	a, err := l.store.Do(context.Background(), weir.Request{Plan: l.plan, Key: key, Ask: ask})
	if err != nil {
		e.Helper()
		e.Fatalf("%s: Do(%s, %+v) failed: %v", errorsRule, short(key), ask, err)
	}
	switch now := e.clock.Now(); {
	case e.bounds && a.At > 0 && a.At <= now.UnixNano(): // the events may have been counted before
	case a.At <= 0 || !e.realTime && a.At != now.UnixNano():
		e.Helper()
		e.Fatalf("%s: Do(%s, %+v) at %d told At %d", atRule, short(key), ask, now.UnixNano(), a.At)
	}
	// A store that is not exact may answer without asking the store that has the clock.
	if own := e.ownTime(); a.ServerTime != own && (a.ServerTime || !e.bounds) {
		e.Helper()
		e.Fatalf("%s: Do(%s, %+v) told ServerTime %v, want %v", atRule, short(key), ask, a.ServerTime, own)
	}
	return a
}

// take calls Take, and checks what holds for every answer.
func (e *env) take(l limiter, key string, n int) weir.Result {
	r, err := l.Take(context.Background(), key, n)
	if err != nil {
		e.Helper()
		e.Fatalf("%s: Take(%s, %d) failed: %v", errorsRule, short(key), n, err)
	}
	switch {
	case n == 0 && !r.Allowed:
		e.Helper()
		e.Fatalf("%s: a look at %s was denied: %+v", r3, short(key), r)
	case r.Allowed != (r.RetryAfter == 0):
		e.Helper()
		e.Fatalf("%s: RetryAfter must be zero exactly if allowed: %+v", r4, r)
	case r.Remaining < 0 || r.Remaining > r.Limit:
		e.Helper()
		e.Fatalf("%s: Remaining must be from 0 to Limit: %+v", r5, r)
	case r.ResetAfter < 0:
		e.Helper()
		e.Fatalf("%s: ResetAfter is negative: %+v", r6, r)
	}
	return r
}
