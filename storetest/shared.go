package storetest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// Backend: two stores on one backend, as in two processes, share their states. A decision of one is
// known to the other at its next request. The case finds stores that answer from their own past
// results, or write back what they read before.
func sharedBackend(e *env) {
	another := e.alsoOn()
	if !e.realTime {
		for _, p := range append(shapes(10, time.Second), custom(time.Second)...) {
			w := e.walk(backendRule, p.Policy, 2, e.limiter(p.Policy, p.name))
			w.stores = []weir.Store{e.store, another}
			w.run(e.few(500))
		}
	}
	const limit = 10
	for _, p := range shapes(limit, e.long()) {
		l := [2]limiter{e.limiter(p.Policy, p.name+" shared"), e.limiterOn(another, p.Policy, p.name+" shared")}
		for round := range 3 {
			for i := 0; e.take(l[i%2], "k", 1).Allowed; i++ {
				if i > limit {
					e.Fatalf("%s: %s: two stores granted more than %d", backendRule, p.name, limit)
				}
			}
			for i := range l {
				if r := e.take(l[i], "k", 1); r.Allowed {
					e.Fatalf("%s: %s: what one store had used up, another granted: %+v", backendRule, p.name, r)
				}
			}
			e.forget(l[round%2], "k")
		}
	}
	e.changedOn(another)
}

// changedOn uses up keys in one store, and asks another store for them under another policy, as
// when processes get a new configuration one by one. The stores see the policies in different
// orders, and neither has seen them before.
func (e *env) changedOn(another weir.Store) {
	const limit = 20
	ps := shapes(limit, e.long())
	for i, p := range ps {
		q := ps[(i+len(ps)/2)%len(ps)] // of another kind
		name := p.name + " to " + q.name
		old := e.limiter(p.Policy, name)
		e.limiter(q.Policy, name)
		changed := e.limiterOn(another, q.Policy, name)
		e.limiterOn(another, p.Policy, name)
		e.exhaust(old, "k", limit)
		if r := e.take(changed, "k", 1); r.Allowed {
			e.Fatalf("%s: %s: one store used up all, and another store granted more: %+v", changeRule, name, r)
		}
	}
}

// Backend, by many goroutines: two stores together grant exactly Limit.
func sharedBackendAtOnce(e *env) {
	limit := e.few(2000)
	e.each(every(limit, e.long()), func(e *env, p weir.Policy) {
		ls := [2]limiter{e.limiter(p, ""), e.limiterOn(e.alsoOn(), p, "")}
		want := limit
		if isQueue(p) {
			want = 1
		}
		var granted atomic.Int64
		parallel(goroutines, func(g int) {
			for range limit / goroutines * 2 {
				if e.allowed(ls[g%2], "k", 1) {
					granted.Add(1)
				}
			}
		})
		if int(granted.Load()) != want {
			e.Fatalf("%s: two stores at once granted %d, want exactly %d", backendRule, granted.Load(), want)
		}
	})
}

// Lost replies: a request that was carried out, but whose reply was lost, is an error and counts
// once. If the store sends it again, the request counts again, unless the store prevents it.
func lostReplies(e *env) {
	const limit = 30
	for _, p := range append(shapes(limit, e.long()), named{"composed", composed(3 * e.long())}) {
		if isQueue(p.Policy) {
			continue // the Remaining of a queue is all or nothing, and is no count
		}
		l := e.limiter(p.Policy, p.name)
		full := e.take(l, "k", 0).Remaining
		e.take(l, "k", 1)
		asked, granted := 1, 1
		for _, losses := range []int{1, 3} {
			e.loseReplies(e.store, losses)
			for range losses {
				asked++
				if r, err := l.Take(context.Background(), "k", 1); err == nil && r.Allowed {
					granted++
				}
			}
			e.loseReplies(e.store, 0)
		}
		if used := full - e.take(l, "k", 0).Remaining; used < granted || used > asked {
			e.Fatalf("%s: %s: of %d asks, the replies of some got lost, %d are known to be granted; counted were %d",
				failureRule, p.name, asked, granted, used)
		}
		for _, ask := range []weir.Ask{
			{N: 3, Mode: weir.UpTo}, {N: 3, Mode: weir.Regardless}, {N: -3}, {N: 3, MaxWait: 1},
		} {
			e.lostReply(l, p.name, ask)
		}
	}
}

// lostReply loses the reply to an ask, which was carried out once or not at all. The Remaining of a
// composed policy may change by fewer events than were asked for.
func (e *env) lostReply(l limiter, policy string, ask weir.Ask) {
	e.Helper()
	before := e.take(l, "k", 0).Remaining
	if before < ask.N {
		return // it may be denied, and no request that counts be sent
	}
	e.loseReplies(e.store, 1)
	_, _ = l.store.Do(context.Background(), weir.Request{Plan: l.plan, Key: "k", Ask: ask})
	e.loseReplies(e.store, 0)
	if counted := before - e.take(l, "k", 0).Remaining; counted < min(ask.N, 0) || counted > max(ask.N, 0) {
		e.Fatalf("%s: %s: the reply to %+v got lost; counted were %d", failureRule, policy, ask, counted)
	}
}
