package storetest

import (
	"context"
	"sync/atomic"

	"github.com/weir-go/weir"
)

// Forgetting: a forgotten key is like a new key, whichever limiter wrote its state. Other keys, and
// the same key of another name, do not change. The request takes no events. Forgetting an unknown
// key is not an error.
func forgottenOnRequest(e *env) {
	const limit = 10
	for _, p := range append(shapes(limit, e.long()), custom(e.long())...) {
		l, other := e.limiter(p.Policy, p.name), e.limiter(p.Policy, p.name+"'")
		fresh := e.take(l, "never seen", 0)
		e.forget(l, "not known")
		for _, key := range []string{"k", "k'", "k "} {
			e.do(l, key, weir.Ask{N: 3, Mode: weir.Regardless})
			e.do(other, key, weir.Ask{N: 3, Mode: weir.Regardless})
		}
		kept, keptByOther := e.take(l, "k'", 0), e.take(other, "k", 0)
		e.forget(l, "k")
		for range 2 {
			if r := e.take(l, "k", 0); !e.same(r, fresh) {
				e.Fatalf("%s: %s: a key that was forgotten: %+v; one never seen: %+v", forgettingRule, p.name, r, fresh)
			}
			e.forget(l, "k")
		}
		if r := e.take(l, "k'", 0); !e.same(r, kept) {
			e.Fatalf("%s: %s: forgetting another key changed %+v to %+v", forgettingRule, p.name, kept, r)
		}
		if r := e.take(other, "k", 0); !e.same(r, keptByOther) {
			e.Fatalf("%s: %s: forgetting the key of another name changed %+v to %+v", forgettingRule, p.name, keptByOther, r)
		}
		changed := e.limiter(weir.FixedWindow{Limit: limit, Per: e.long()}, p.name)
		e.forget(changed, "k'")
		if r := e.take(l, "k'", 0); !e.same(r, fresh) {
			e.Fatalf("%s: %s: forgotten by a limiter with another policy: %+v; never seen: %+v", forgettingRule, p.name, r, fresh)
		}
	}
}

// Forgetting while other goroutines decide: each time a full allowance is there again, and never
// more.
func concurrentForgetting(e *env) {
	const limit, times = 20, 5
	e.each(every(limit, e.long()), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		alone, _ := e.exhaust(l, "alone", limit)
		var granted atomic.Int64
		parallel(goroutines, func(g int) {
			for i := range e.few(300) {
				if e.allowed(l, "k", 1) {
					granted.Add(1)
				}
				if g == 0 && i%e.few(60) == 0 && i < times*e.few(60) {
					e.forget(l, "k")
				}
			}
		})
		got := int(granted.Load())
		if got < alone || got > (times+1)*alone {
			e.Fatalf("%s: %d were granted while the key was forgotten %d times, want %d to %d",
				forgettingRule, got, times, alone, (times+1)*alone)
		}
		e.forget(l, "k")
		if got, _ := e.exhaust(l, "k", limit); got != alone {
			e.Fatalf("%s: after it was forgotten the key was granted %d, want %d", forgettingRule, got, alone)
		}
	})
}

// forget makes the store forget a key. The request also asks for events, which must not count.
func (e *env) forget(l limiter, key string) {
	e.Helper()
	_, err := l.store.Do(context.Background(), weir.Request{Plan: l.plan, Key: key, Ask: weir.Ask{N: 1}, Forget: true})
	if err != nil {
		e.Errorf("%s: forgetting %s failed: %v", forgettingRule, short(key), err)
	}
}
