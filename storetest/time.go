package storetest

import (
	"math"
	"strconv"
	"time"

	"github.com/weir-go/weir"
)

// churn makes requests for other keys, so that a store that drops expired keys during requests does
// so now. The states that it leaves soon expire.
func (e *env) churn(n int) {
	e.Helper()
	l := e.limiter(weir.FixedWindow{Limit: 1, Per: 1}, "churn")
	for i := range n {
		e.take(l, strconv.Itoa(i), 1)
	}
}

// R6: a key can expire when ResetAfter has passed, and then answers like a new key. One tick
// earlier, its state still counts.
func forgottenNotBefore(e *env) {
	const limit = 10
	e.each(shapes(limit, time.Second), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		e.take(l, "k", 3)
		e.advance(50 * time.Millisecond)
		e.take(l, "k", 4)
		reset := e.up(e.take(l, "k", 0).ResetAfter)

		e.advance(reset - e.tick)
		e.churn(e.few(1000))
		if r := e.take(l, "k", limit); r.Allowed || e.up(r.RetryAfter) != e.tick {
			e.Fatalf("%s: one tick before the ResetAfter of %v, all %d events: %+v; want a denial for one tick more",
				r6, reset, limit, r)
		}
		e.advance(e.tick)
		e.churn(e.few(1000))
		for _, n := range []int{0, 1, limit - 1} {
			got, want := e.take(l, "k", n), e.take(l, "never seen", n)
			if !e.same(got, want) {
				e.Fatalf("%s: after the ResetAfter of %v, %d events: %+v; a key never seen gets %+v", r6, reset, n, got, want)
			}
		}
	})
}

// R6: many keys come and go at different times. Each answers as though no key ever expired.
func forgettingManyKeys(e *env) {
	for _, p := range append(shapes(10, time.Second), custom(time.Second)...) {
		l := e.limiter(p.Policy, p.name)
		w := e.walk(r6, p.Policy, e.few(1000), l)
		w.run(e.few(6000))
		e.advance(time.Minute)
		w.run(e.few(1000))
	}
}

// R6: a state that expires soon is kept until then. A store that counts the time to live in seconds
// or milliseconds, and rounds it down to zero, limits nothing.
func timeToLiveNeverZero(e *env) {
	if e.realTime {
		e.timeToLiveByRealTime()
		return
	}
	const limit = 5
	for _, per := range []time.Duration{limit * e.tick, time.Millisecond, 995 * time.Millisecond} {
		for _, p := range shapes(limit, per) {
			l := e.limiter(p.Policy, p.name+per.String())
			want := e.model(p.Policy)
			for i := range 3 * limit {
				got := e.take(l, "k", 1)
				if a := want.do("k", e.clock.Now(), weir.Ask{N: 1}); got.Allowed != a.Allowed {
					e.Fatalf("%s: %s of %d per %v, take %d within one instant: %+v, want %+v", r6, p.name, limit, per, i+1, got, a.Result)
				}
				e.churn(max(1, e.few(10)))
			}
		}
	}
}

func (e *env) timeToLiveByRealTime() {
	const per = 900 * time.Millisecond
	l := e.limiter(weir.TokenBucket{Limit: 1, Per: per}, "")
	before := time.Now()
	granted := 0
	for range 200 {
		if e.take(l, "k", 1).Allowed {
			granted++
		}
	}
	if elapsed := time.Since(before); granted > 2+int(elapsed/per) {
		e.Fatalf("%s: at 1 per %v, %d were granted in %v", r6, per, granted, elapsed)
	}
}

// skewed returns a function that takes n events at the instant start + at. A limiter's clock never
// steps back. Each instant therefore has its own limiter. The limiters are like processes whose
// clocks differ.
func (e *env) skewed(p weir.Policy) func(at time.Duration, key string, n int) weir.Result {
	ls := map[time.Duration]limiter{}
	return func(at time.Duration, key string, n int) weir.Result {
		e.Helper()
		if _, ok := ls[at]; !ok {
			ls[at] = e.limiter(p, "")
		}
		e.at(at)
		return e.take(ls[at], key, n)
	}
}

// R7: takes that alternate between two instants are granted no more than takes that are all at the
// first instant, and then all at the second. A clock that goes back and forth gains nothing. The
// takes in order come first, because a store may read a limiter's clock at any time, and a limiter
// never goes back to before an instant that it has seen.
func olderEarnsNothing(e *env) {
	const limit, per = 10, 10 * time.Second
	e.each(shapes(limit, per), func(e *env, p weir.Policy) {
		take := e.skewed(p)
		inTurn, inOrder := 0, 0
		for i := range 4 * limit {
			if take(time.Duration(i/(2*limit))*per, "in order", 1).Allowed {
				inOrder++
			}
		}
		for i := range e.few(2000) {
			if take(time.Duration(i%2)*per, "in turn", 1).Allowed {
				inTurn++
			}
		}
		if inTurn > inOrder {
			e.Fatalf("%s: instants in turn were granted %d events, in order %d", r7, inTurn, inOrder)
		}

		l := e.limiter(p, "one limiter")
		e.at(per)
		e.exhaust(l, "k", limit)
		for i := range 100 {
			e.at(time.Duration(i%2) * per)
			if r := e.take(l, "k", 1); r.Allowed {
				e.Fatalf("%s: a clock that stepped back and forth earned an event: %+v", r7, r)
			}
		}
	})
}

// R7: at an instant that is earlier by a step, RetryAfter is longer by that step at most. No ask at
// that instant changes when the key grants requests again.
func stepBackDelays(e *env) {
	const limit, per = 10, 10 * time.Second
	e.each(shapes(limit, per), func(e *env, p weir.Policy) {
		take := e.skewed(p)
		for range limit {
			take(per, "k", 1)
		}
		wait := e.up(take(per, "k", 1).RetryAfter)
		for _, step := range []time.Duration{e.tick, per / 3, per} {
			r := take(per-step, "k", 1)
			if r.Allowed || e.up(r.RetryAfter) < wait || e.up(r.RetryAfter) > wait+e.up(step) {
				e.Fatalf("%s: shut for %v; a step back by %v made that %+v", r7, wait, step, r)
			}
		}
		if r := take(per+wait-e.tick, "k", 1); r.Allowed {
			e.Fatalf("%s: opened a tick before the %v were over: %+v", r7, wait, r)
		}
		if r := take(per+wait, "k", 1); !r.Allowed {
			e.Fatalf("%s: still shut after %v: %+v", r7, wait, r)
		}
	})
}

// R8: event k after the burst is granted when k times Per/Limit have passed. This is rounded up
// once, and not with each event.
func noDrift(e *env) {
	for _, p := range []weir.TokenBucket{
		{Limit: 7, Per: time.Second},
		{Limit: 130, Per: time.Second},  // 7.69 ms per event
		{Limit: 1500, Per: time.Second}, // more than one per millisecond
		{Limit: 7, Per: 365 * 24 * time.Hour},
	} {
		l := e.limiter(p, p.Per.String()+strconv.Itoa(p.Limit))
		e.at(0)
		began := e.clock.Now()
		e.exhaust(l, "k", p.Limit)
		for k := int64(1); k <= int64(e.few(1000)); k++ {
			r := e.take(l, "k", 1)
			if !r.Allowed {
				e.advance(r.RetryAfter)
				r = e.take(l, "k", 1)
			}
			whole, rest := k/int64(p.Limit), k%int64(p.Limit)
			exact := whole*int64(p.Per) + (rest*int64(p.Per)+int64(p.Limit)-1)/int64(p.Limit)
			passed, want := e.clock.Now().Sub(began), e.up(time.Duration(exact))
			if !r.Allowed || passed != want {
				e.Fatalf("%s: %+v: event %d after the burst can go after %v; after %v: %+v", r8, p, k, want, passed, r)
			}
		}
	}
	fast := weir.TokenBucket{Limit: 600_000_000, Per: time.Second}
	l := e.limiter(fast, "fast")
	e.take(l, "k", fast.Limit)
	for range e.few(1000) {
		e.advance(e.up(time.Microsecond))
		earned := 600 * int(e.up(time.Microsecond)/time.Microsecond)
		if r := e.take(l, "k", 0); r.Remaining != earned {
			e.Fatalf("%s: %+v earned %d in %v, want %d", r8, fast, r.Remaining, e.up(time.Microsecond), earned)
		}
		e.take(l, "k", earned)
	}
}

// R9: policies with the largest and smallest values that New accepts answer as they decide, even
// for as many events as an int can hold. Any policy does so at the first and the last instant.
func nothingWraps(e *env) {
	for _, p := range extremes() {
		e.at(0)
		w := e.walk(r9, p.Policy, 3, e.limiter(p.Policy, p.name))
		w.run(e.few(500))
		for i, ask := range []weir.Ask{
			{N: math.MaxInt / 2, Mode: weir.UpTo},
			{N: math.MaxInt, Mode: weir.UpTo}, // of which there is a half
			{N: -math.MaxInt / 4},
			{N: math.MaxInt / 2, Mode: weir.Regardless},
		} {
			w.compare(w.limiters[0], 0, "many", ask, i)
		}
	}
	if e.setClock != nil {
		return // a server's clock never gets there
	}
	const limit = 10
	for _, now := range []int64{0, 1, math.MaxInt64 - int64(time.Second), math.MaxInt64} {
		e.each(shapes(limit, time.Second), func(e *env, p weir.Policy) {
			e.clock.set(time.Unix(0, now))
			l, m := e.limiter(p, ""), e.model(p)
			for i := range 2 * limit {
				got, want := e.take(l, "k", 1), m.do("k", time.Unix(0, now), weir.Ask{N: 1})
				if got != want.Result {
					e.Fatalf("%s: take %d at the instant %d: %+v, want %+v", r9, i+1, now, got, want.Result)
				}
				e.churn(10)
			}
		})
	}
}
