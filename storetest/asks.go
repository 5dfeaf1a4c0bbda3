package storetest

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// UpTo: an ask is granted as many events as there are, and the answer reports how many. If there
// are none, it is a denial, which changes nothing. A queue has room for all or for none.
func asManyAsThereAre(e *env) {
	const limit = 10
	e.each(shapes(limit, e.long()), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		granted := []int{4, 6, 0, 0}
		if isQueue(p) {
			granted = []int{4, 0, 0, 0}
		}
		for i, n := range []int{4, limit, 1, limit + 5} {
			before := e.take(l, "k", 0)
			a := e.do(l, "k", weir.Ask{N: n, Mode: weir.UpTo})
			if a.Granted != granted[i] || a.Allowed != (granted[i] > 0) {
				e.Fatalf("%s: up to %d with %d left: %+v, want %d granted", upToRule, n, before.Remaining, a, granted[i])
			}
			after := e.take(l, "k", 0)
			switch {
			case a.Remaining != after.Remaining:
				e.Fatalf("%s: up to %d told %d Remaining, and a look then %d", upToRule, n, a.Remaining, after.Remaining)
			case a.Allowed:
			case a.RetryAfter <= 0 || a.RetryAfter == weir.Never:
				e.Fatalf("%s: up to %d of none: %+v, want the time until there is one", upToRule, n, a)
			case !e.same(before, after):
				e.Fatalf("%s: up to %d of none changed %+v to %+v", upToRule, n, before, after)
			}
		}
	})
}

// UpTo by many goroutines: together they are granted exactly the events that there are.
func concurrentUpTo(e *env) {
	limit := e.few(5000)
	if e.realTime {
		limit = e.few(1000) // the log keeps an entry for each instant
	}
	e.each(every(limit, e.long()), func(e *env, p weir.Policy) {
		if isQueue(p) {
			e.Skip("a queue grants them all to the first")
		}
		l := e.limiter(p, "")
		var granted atomic.Int64
		parallel(goroutines, func(g int) {
			for i := range limit {
				a := e.ask(l, "k", weir.Ask{N: 1 + (g+i)%3, Mode: weir.UpTo})
				granted.Add(int64(a.Granted))
				if !a.Allowed {
					return
				}
			}
		})
		if int(granted.Load()) != limit {
			e.Fatalf("%s: asking for as many as there are, %d goroutines were granted %d, want exactly %d",
				r10, goroutines, granted.Load(), limit)
		}
	})
}

// Regardless: all events are granted. Events beyond the allowance are a debt. During a debt the key
// denies requests, and nothing remains. The debt is paid by giving back charges, or by time,
// depending on the policy.
func chargedRegardless(e *env) {
	const limit = 10
	e.each(shapes(limit, e.long()), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		e.take(l, "k", 3)
		before := e.take(l, "k", 0)
		var undo []weir.Ask
		debts := []int{1, limit, 3 * limit}
		if e.realTime {
			debts = debts[:2] // the rest would take 300 years to pay, beyond the last instant
		}
		for _, n := range debts {
			a, back := e.named(l, "k", weir.Ask{N: n, Mode: weir.Regardless})
			if !a.Allowed || a.RetryAfter != 0 {
				e.Fatalf("%s: %d regardless: %+v", regardlessRule, n, a)
			}
			undo = append(undo, back)
		}
		if r := e.take(l, "k", 1); r.Allowed || r.Remaining != 0 {
			e.Fatalf("%s: in debt, one event: %+v", regardlessRule, r)
		}
		if a := e.do(l, "k", weir.Ask{N: limit, Mode: weir.UpTo}); a.Allowed || a.Granted != 0 {
			e.Fatalf("%s: in debt, as many as there are: %+v", regardlessRule, a)
		}
		for _, back := range slices.Backward(undo) { // a bucket can undo the latest charge only
			e.do(l, "k", back)
		}
		if after := e.take(l, "k", 0); !e.same(before, after) {
			e.Fatalf("%s: what was charged was given back, which changed %+v to %+v", regardlessRule, before, after)
		}
	})
}

// Regardless by many goroutines: no charge is lost, and none counts twice. A bucket cannot give
// back charges beyond its allowance without their Charges, so its allowance is larger here.
func concurrentRegardless(e *env) {
	charges := e.few(300)
	limit := charges * goroutines // half of the events that are charged
	var policies []named
	for _, p := range append(shapes(limit, e.long()), conserving(limit, e.long())...) {
		if !books(p.Policy) && p.name != allOfBuckets {
			policies = append(policies, p)
		}
	}
	for _, p := range append(shapes(3*limit, e.long()), conserving(3*limit, e.long())...) {
		ages := e.realTime && p.name == withBurst // an int64 cannot hold the time of a hundred events
		if (books(p.Policy) || p.name == allOfBuckets) && !ages {
			policies = append(policies, p)
		}
	}
	e.each(policies, func(e *env, p weir.Policy) {
		l, m := e.limiter(p, ""), e.model(p)
		e.take(l, "k", 3)
		m.do("k", e.clock.Now(), weir.Ask{N: 3})
		before := e.take(l, "k", 0)
		parallel(goroutines, func(g int) {
			for range charges {
				e.ask(l, "k", weir.Ask{N: 1 + g%3, Mode: weir.Regardless})
			}
		})
		for g := range goroutines {
			m.do("k", e.clock.Now(), weir.Ask{N: charges * (1 + g%3), Mode: weir.Regardless})
		}
		if got, want := e.take(l, "k", 0), m.look(0, "k", e.clock.Now()); isQueue(p) {
			if !e.same(got, want.Result) {
				e.Fatalf("%s: %d charges of as many goroutines left %+v, want %+v", r10, charges*goroutines, got, want.Result)
			}
			return // it gives back its latest event only
		}
		for g := range goroutines {
			for _, n := range []int{charges - 1, 1} { // if one charge was lost, the last is missing
				e.do(l, "k", weir.Ask{N: -n * (1 + g%3)})
			}
		}
		after := e.take(l, "k", 0)
		e.do(l, "k", weir.Ask{N: 1, Mode: weir.Regardless})
		e.do(l, "k", weir.Ask{N: -1})
		if again := e.take(l, "k", 0); !e.same(before, after) || !e.same(before, again) {
			e.Fatalf("%s: %d charges of as many goroutines, and giving all of it back, changed %+v to %+v, and then %+v",
				r10, charges*goroutines, before, after, again)
		}
	})
}

// GivingBack: if the policy no longer counts the events of an instant, giving them back does not
// free events that it counts now. The instant is the At of the answer that granted them.
func givenBackByInstant(e *env) {
	const limit, per = 10, time.Second
	e.each(shapes(limit, per), func(e *env, p weir.Policy) {
		if books(p) {
			e.Skip("a bucket counts no instants")
		}
		l := e.limiter(p, "")
		first := e.do(l, "k", weir.Ask{N: 6}).At
		e.advance(3 * per)
		second := e.do(l, "k", weir.Ask{N: 5}).At
		for _, back := range []struct {
			n    int
			at   int64
			left int
		}{
			{6, first, limit - 5},
			{2, second, limit - 3},
			{1, 0, limit - 2},
			{6, second, limit}, // more than there are
			{6, first, limit},
		} {
			e.do(l, "k", weir.Ask{N: -back.n, GrantedAt: back.at})
			if r := e.take(l, "k", 0); r.Remaining != back.left {
				e.Fatalf("%s: 6 of an instant that is not counted any more, and 5 of another: after giving back %d of %d, Remaining is %d, want %d",
					givingBackRule, back.n, back.at, r.Remaining, back.left)
			}
		}
	})
}

// At: every answer reports the instant of its decision, and by whose clock, also for a look and in
// a denial.
func tellsTheInstant(e *env) {
	e.each(append(shapes(10, time.Second), custom(time.Second)...), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		step := 1
		if testing.Short() {
			step = 4
		}
		for i := 0; i < 20; i += step { // do checks At and ServerTime
			for _, ask := range []weir.Ask{{N: 1}, {}, {N: 11}, {N: 2, Mode: weir.UpTo}, {N: -1}, {N: 1, MaxWait: time.Second}} {
				e.do(l, "k", ask)
			}
			e.advance(e.up(time.Duration(i*i) * time.Millisecond / 3))
		}
	})
}

// At: although time passes during a decision, the answer reports the instant that the policy got.
func tellsTheInstantWhileTimePasses(e *env) {
	p := dial{chain{Per: e.long()}}
	l := e.limiter(p, "")
	if !e.realTime {
		l = e.limiterWith(e.store, runningClock{e.clock, e.tick}, p, "")
	}
	for range 20 {
		for _, ask := range []weir.Ask{{N: 1}, {}, {N: 2, Mode: weir.UpTo}, {N: -1}} {
			if a := e.ask(l, "k", ask); a.Remaining != int(a.At%most) {
				e.Fatalf("%s: Do(%+v) told At %d, which is not the instant of the decision", atRule, ask, a.At)
			}
		}
	}
}

// ByComponent: a store passes the slice for the results of the parts to a composed policy.
// Afterwards the slice holds the results of the latest decision, in place of its old contents, even
// if the store had to decide more than once.
func resultsOfParts(e *env) {
	slow := weir.FixedWindow{Limit: 20, Per: e.long()}
	for _, p := range []struct {
		named
		parts int
	}{
		{named{"All", weir.All(weir.TokenBucket{Limit: 10, Per: e.long()}, slow, weir.SlidingLog{Limit: 30, Per: e.long()})}, 3},
		{named{"Tiers", weir.Tiers(weir.TokenBucket{Limit: 10, Per: e.long()}, slow)}, 2},
	} {
		e.sub(e.TB, p.name, func(tb testing.TB) { e.suite.env(tb).parts(p.Policy, p.parts) })
	}
}

func (e *env) parts(p weir.Policy, n int) {
	l, m := e.limiter(p, ""), e.model(p)
	for i, ask := range []weir.Ask{{N: 1}, {N: 8}, {N: 5}, {}, {N: 100}, {N: 4, Mode: weir.UpTo}, {N: -2}} {
		junk := []weir.Result{{Limit: -1}}
		got, want := junk, junk
		ask.ByComponent, ask.More = &got, ask.N >= 0
		e.do(l, "k", ask)
		ask.ByComponent = &want
		m.do("k", e.clock.Now(), ask)
		if len(want) != n {
			e.Fatalf("storetest: %#v told %d parts", p, len(want))
		}
		if !e.sameParts(got, want) {
			e.Fatalf("%s: the parts of ask %d are %+v, want %+v", partsRule, i, got, want)
		}
	}
}

func (e *env) sameParts(a, b []weir.Result) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !e.same(a[i], b[i]) {
			return false
		}
	}
	return true
}
