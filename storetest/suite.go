package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// A suite is what Run was told. It knows testing.TB only, so that its own tests can see it fail.
type suite struct {
	newStore func(testing.TB) weir.Store
	sub      func(tb testing.TB, name string, f func(testing.TB))
	patience time.Duration // how long a case waits for what must happen at once
	tick     time.Duration
	setClock func(weir.Store, time.Time) // nil unless the store has a clock of its own
	realTime bool
	isFar    bool
}

func (s *suite) run(tb testing.TB) {
	for _, c := range testCases() {
		s.runCase(tb, c)
	}
}

func (s *suite) runCase(tb testing.TB, c testCase) {
	s.sub(tb, c.name, func(tb testing.TB) {
		if c.driven && s.realTime {
			tb.Skip("the store's clock can't be set")
		}
		c.run(s.env(tb))
	})
}

// start is where the clock stands at first: some way into a second, and into a day, of 2023.
var start = time.Unix(1_700_006_400, 0).Add(3*time.Hour + 123_457*time.Microsecond)

// An env is a store under test, and its clock.
type env struct {
	testing.TB
	*suite
	store weir.Store
	clock *manualClock
}

func (s *suite) env(tb testing.TB) *env {
	e := &env{tb, s, s.newStore(tb), newManualClock()}
	e.at(0)
	return e
}

// each runs f as a subtest for every policy, each with a new store.
func (e *env) each(policies []named, f func(e *env, p weir.Policy)) {
	for _, p := range policies {
		e.sub(e.TB, p.name, func(tb testing.TB) { f(e.env(tb), p.Policy) })
	}
}

// at sets the clock to start + d, rounded up to the tick.
func (e *env) at(d time.Duration) { e.set(start.Add(d)) }

// advance sets the clock forward by d, rounded up to the tick.
func (e *env) advance(d time.Duration) { e.set(e.clock.Now().Add(d)) }

func (e *env) set(now time.Time) {
	if e.realTime {
		return
	}
	now = time.Unix(0, int64(e.up(time.Duration(now.UnixNano()))))
	if e.setClock != nil {
		e.setClock(e.store, now) // first, for those whom the other clock wakes ask the store at once
	}
	e.clock.set(now)
}

// up is d rounded up to the tick. What saturates stays so.
func (s *suite) up(d time.Duration) time.Duration {
	if rest := d % s.tick; rest > 0 {
		if d > math.MaxInt64-s.tick {
			return math.MaxInt64
		}
		d += s.tick - rest
	}
	return d
}

// seen is an answer as far as it can be compared with a policy's, which does not tell At.
func (s *suite) seen(a weir.Answer, ask weir.Ask) weir.Answer {
	a.At = 0
	if s.realTime {
		a.RetryAfter, a.ResetAfter, a.Delay = 0, 0, 0
		return a
	}
	a.RetryAfter, a.ResetAfter = s.up(a.RetryAfter), s.up(a.ResetAfter)
	if ask.N < 0 {
		a.Delay -= a.Delay % s.tick
	} else {
		a.Delay = s.up(a.Delay)
	}
	return a
}

// few is n, or a tenth of it if the tests are to be short, or requests take long.
func (s *suite) few(n int) int {
	if s.isFar || testing.Short() {
		return n / 10
	}
	return n
}

// long is a period so long that nothing is earned and no window ends while a test runs.
func (e *env) long() time.Duration {
	if e.realTime {
		return 50 * 365 * 24 * time.Hour // its windows began at the end of 2019
	}
	return 24 * time.Hour
}

// A limiter is a weir.Keyed, and lets cases make requests that it doesn't.
type limiter struct {
	*weir.Keyed
	scope *weir.Scope
}

func (e *env) limiter(p weir.Policy, name string) limiter {
	return e.limiterOn(e.store, e.clock, p, name)
}

func (e *env) limiterOn(s weir.Store, c weir.Clock, p weir.Policy, name string) limiter {
	e.Helper()
	with := func(s weir.Store) *weir.Keyed {
		opts := []weir.Option{weir.WithStore(s), weir.WithName(name)}
		if !e.realTime {
			opts = append(opts, weir.WithClock(c))
		}
		l, err := weir.New(p, opts...)
		if err != nil {
			e.Fatalf("New(%#v): %v", p, err)
		}
		return l
	}
	var catch scopeCatcher
	with(&catch).Allow("")
	return limiter{with(s), catch.scope}
}

// A scopeCatcher is a Store that keeps the Scope of the limiter that asks it.
type scopeCatcher struct{ scope *weir.Scope }

func (c *scopeCatcher) Do(_ context.Context, r weir.Request) (weir.Answer, error) {
	c.scope = r.Scope
	return weir.Answer{}, errors.New("no decision")
}

// do makes a request of the store that Take can't make: to give back, or to book ahead.
func (e *env) do(l limiter, key string, ask weir.Ask) weir.Answer {
	e.Helper()
	a, err := e.store.Do(context.Background(), weir.Request{Scope: l.scope, Key: key, Ask: ask})
	if err != nil {
		e.Fatalf("%s: Do(%s, %+v) failed: %v", errorsRule, short(key), ask, err)
	}
	if now := e.clock.Now(); a.At <= 0 || !e.realTime && a.At != now.UnixNano() {
		e.Fatalf("%s: Do(%s, %+v) at %d told At %d", atRule, short(key), ask, now.UnixNano(), a.At)
	}
	return a
}

// take is Take, and checks what holds for every answer.
func (e *env) take(l limiter, key string, n int) weir.Result {
	e.Helper()
	r, err := l.Take(context.Background(), key, n)
	if err != nil {
		e.Fatalf("%s: Take(%s, %d) failed: %v", errorsRule, short(key), n, err)
	}
	switch {
	case n == 0 && !r.Allowed:
		e.Fatalf("%s: a look at %s was denied: %+v", r3, short(key), r)
	case r.Allowed != (r.RetryAfter == 0):
		e.Fatalf("%s: RetryAfter must be zero exactly if allowed: %+v", r4, r)
	case r.Remaining < 0 || r.Remaining > r.Limit:
		e.Fatalf("%s: Remaining must be from 0 to Limit: %+v", r5, r)
	case r.ResetAfter < 0:
		e.Fatalf("%s: ResetAfter is negative: %+v", r6, r)
	}
	return r
}

// exhaust takes single events until one is denied. It returns how many were granted, and the denial;
// it gives up when they are more than most.
func (e *env) exhaust(l limiter, key string, most int) (int, weir.Result) {
	e.Helper()
	for granted := 0; ; granted++ {
		if r := e.take(l, key, 1); !r.Allowed || granted > most {
			return granted, r
		}
	}
}

// same reports whether two results are equal as far as they can be compared.
func (e *env) same(a, b weir.Result) bool {
	return e.seen(weir.Answer{Result: a}, weir.Ask{}) == e.seen(weir.Answer{Result: b}, weir.Ask{})
}

// short is a key as it can be printed.
func short(key string) string {
	if len(key) > 40 {
		return fmt.Sprintf("%.20q...%q (%d bytes)", key, key[len(key)-10:], len(key))
	}
	return fmt.Sprintf("%q", key)
}
