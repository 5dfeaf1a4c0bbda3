package storetest

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// boundsLimit is large enough that a store which takes events ahead of need does so.
const boundsLimit = 200

// boundsPolicies are policies that never grant more events if some of the requests are left out. A
// store that denies some requests early can therefore not grant more later. Tiers and markers are
// not among them, because any of their parts might have paid for a denied request.
func boundsPolicies(per time.Duration) []named {
	composed := conserving(boundsLimit, per)
	return append(shapes(boundsLimit, per), slices.DeleteFunc(composed, func(p named) bool {
		return p.name != "All" && p.name != allOfBuckets && p.name != "CalendarWindow"
	})...)
}

// eachBound runs f as a subtest for every policy, with as many stores on one backend as asked for.
func (e *env) eachBound(per time.Duration, stores int, f func(b *bounded)) {
	for _, p := range boundsPolicies(per) {
		e.sub(e.TB, p.name, func(tb testing.TB) {
			if e.inBubble == nil {
				f(e.suite.env(tb).bounded(p.Policy, per, stores))
				return
			}
			e.inBubble(tb, func(tb testing.TB) {
				e := &env{TB: tb, suite: e.suite, store: e.newStore(tb), clock: newManualClock(), bubble: true}
				e.clock.set(time.Now())
				f(e.bounded(p.Policy, per, stores))
			})
		})
	}
}

// backends is how many stores to ask: two, if they can share a backend.
func (e *env) backends() int {
	if e.another != nil {
		return 2
	}
	return 1
}

// boundsPer is a period that is long compared with the time by which a denial may be early.
func (e *env) boundsPer() time.Duration {
	return (10*time.Second + 20*e.early).Truncate(time.Second)
}

// boundsLong is a period that is so long that nothing is earned while an early denial lasts.
func (e *env) boundsLong() time.Duration {
	return e.long() + (4 * boundsLimit * e.early).Truncate(time.Second)
}

// Bounds: random requests of one store, or of several on one backend, after pauses of all lengths.
// The policy alone would have granted the same events at the same instants. No window or span
// exceeds its limit.
func boundsAtRandom(e *env) { e.eachBound(e.boundsPer(), 1, (*bounded).walk) }

func boundsOfTwoAtRandom(e *env) {
	if reason := e.lacks(aClock); reason != "" {
		e.Skip(reason)
	}
	e.eachBound(e.boundsPer(), 2, (*bounded).walk)
}

func (b *bounded) walk() {
	keys := []string{"a", "b", "c"}
	store := 0
	for range max(b.few(2000), 200) {
		key := keys[b.random.IntN(len(keys))]
		b.pause(key)
		if b.random.IntN(10) == 0 {
			store = b.random.IntN(len(b.limiters))
		}
		switch kind := b.random.IntN(20); {
		case kind == 0:
			b.take(b.limiters[store], key, 0) // a look, which is allowed
		case kind == 1:
			b.tooMany(store, key)
		case kind == 2:
			b.hammer(store, key)
		case kind == 3:
			b.askUpTo(store, key)
		case kind == 4:
			size := b.random.IntN(2)
			for range b.random.IntN(boundsLimit / 8) {
				b.askOtherwise(store, key, size)
			}
		case kind == 5:
			b.borrow(store, key)
		case kind == 6:
			b.book(store, key)
		case kind == 7:
			b.ask(store, key, b.random.IntN(len(sizes)))
		default: // a burst
			size := b.random.IntN(2)
			for range b.random.IntN(boundsLimit / 8) {
				b.ask(store, key, size)
			}
		}
	}
	for _, key := range keys {
		b.checkWindows(key)
	}
}

// tooMany asks for more events than there ever are.
func (b *bounded) tooMany(store int, key string) {
	b.Helper()
	n := b.would(key, 0, 0).Limit + 1
	if r := b.take(b.limiters[store], key, n); r.Allowed {
		b.Fatalf("%s: %#v: %d events were granted, one more than ever fits: %+v", overRule, b.policy, n, r)
	}
}

// askUpTo asks for as many events as there are, up to some.
func (b *bounded) askUpTo(store int, key string) {
	b.Helper()
	n, _, err := b.limiters[store].TakeUpTo(context.Background(), key, sizes[b.random.IntN(len(sizes))])
	if err != nil {
		b.Fatalf("%s: TakeUpTo(%s) failed: %v", errorsRule, key, err)
	}
	if n > 0 {
		b.granted(key, n)
	} else {
		b.denied(store, key, 1)
	}
	b.key(key).asked[store] = b.now()
}

// hammer asks again and again, until a denial must have ended. The denial must not last longer
// because of these requests.
func (b *bounded) hammer(store int, key string) {
	b.Helper()
	const times = 12
	size := b.random.IntN(len(sizes))
	for i := 0; i <= 2*boundsLimit && b.ask(store, key, size); i++ {
	}
	open := min(b.would(key, sizes[size], 0).RetryAfter, 5*b.per)
	step := b.up((open + b.early) / times)
	for range times + 1 {
		b.advance(step)
		b.ask(store, key, size)
	}
}

// pause lets time pass. The instants around the one at which a denial must end are likely.
func (b *bounded) pause(key string) {
	open := b.up(min(b.would(key, sizes[b.random.IntN(len(sizes))], 0).RetryAfter, 5*b.per))
	early := b.up(b.early)
	var d time.Duration
	switch b.random.IntN(24) {
	case 0:
		d = b.tick
	case 1:
		d = max(open-b.tick, 0)
	case 2:
		d = open
	case 3:
		d = open + early/2
	case 4, 5:
		d = open + early
	case 6:
		d = max(early-b.tick, 0)
	case 7:
		d = time.Duration(b.random.Int64N(int64(b.per / 20)))
	case 8:
		d = time.Duration(b.random.Int64N(int64(b.per)))
	case 9:
		d = min(b.would(key, 0, 0).ResetAfter, 5*b.per)
	}
	if d > 0 {
		b.advance(b.up(d))
	}
}

// Bounds: many goroutines ask all stores at one instant, and once more after the time in which
// events may be held. Together they are granted what a new key has, and no more.
func boundsAtOnce(e *env) {
	e.eachBound(e.boundsLong(), e.backends(), func(b *bounded) {
		b.nextWindow()
		want := b.whole()
		var granted atomic.Int64
		parallel(goroutines, func(g int) {
			n := 1
			if !isQueue(b.policy) { // which has room for all or for none
				n += g / 2 % 2
			}
			for range boundsLimit {
				if !b.allowed(b.limiters[g%len(b.limiters)], "k", n) {
					return
				}
				granted.Add(int64(n))
			}
		})
		if got := int(granted.Load()); got > want {
			b.Fatalf("%s: %#v: %d goroutines at one instant were granted %d of %d", overRule, b.policy, goroutines, got, want)
		}
		b.rest(b.limiters, "k", int(granted.Load()), want)
	})
}

// rest waits for as long as events may be held, and checks that stores together then grant the rest
// of the events that were wanted.
func (b *bounded) rest(stores []limiter, key string, granted, want int) {
	b.Helper()
	if b.early > 0 {
		b.advance(b.up(b.early))
	}
	for i, denials := 0, 0; denials < len(stores) && granted <= 2*want; i++ {
		denials++
		if b.take(stores[i%len(stores)], key, 1).Allowed {
			granted, denials = granted+1, 0
		}
	}
	switch {
	case granted > want:
		b.Fatalf("%s: %#v: %d were granted, of %d in so short a time", overRule, b.policy, granted, want)
	case granted < want:
		b.Fatalf("%s: %#v: only %d of %d were granted, although nobody asked for %v", idleRule, b.policy, granted, want, b.early)
	}
}

// nextWindow goes to the start of a window that is aligned to the epoch, so that none ends soon.
func (b *bounded) nextWindow() {
	b.advance(b.per - time.Duration(b.now()%int64(b.per)))
}
