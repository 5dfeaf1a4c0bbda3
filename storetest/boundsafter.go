package storetest

import (
	"context"

	"github.com/weir-go/weir"
)

// Bounds: when a key was idle until it has recovered, and for as long as events may be held, it has
// all its events again, whatever was asked before.
func boundsAfterIdling(e *env) {
	e.eachBound(e.boundsPer(), e.backends(), func(b *bounded) {
		for range max(b.few(30), 5) {
			for range b.random.IntN(20) {
				b.pause("k")
				b.ask(b.random.IntN(len(b.limiters)), "k", b.random.IntN(len(sizes)))
			}
			b.advance(b.up(b.would("k", 0, 0).ResetAfter))
			b.advance(b.up(b.early) + b.tick)
			if got, want := b.useUp("k"), b.whole(); got < want {
				b.Fatalf("%s: %#v: a key that was idle until it has recovered, and %v more, was granted %d events, want %d",
					idleRule, b.policy, b.early, got, want)
			}
		}
	})
}

// Bounds: events that are given back can be used again, at the latest after the time for which
// events may be held. No more events than these can be used.
func boundsGivenBack(e *env) {
	e.eachBound(e.boundsLong(), e.backends(), func(b *bounded) {
		if isQueue(b.policy) {
			return // it gives back its latest event only
		}
		b.nextWindow()
		const back = boundsLimit / 4
		first := b.useUpBut(back)
		_, undo := b.named(b.limiters[0], "k", weir.Ask{N: back})
		b.rest(b.limiters, "k", first+back, b.whole())
		for _, ask := range []weir.Ask{undo, {N: -back}} { // of a grant, and of none
			b.do(b.limiters[0], "k", ask)
			b.rest(b.limiters[len(b.limiters)-1:], "k", 0, back) // another store, if there is one
		}
	})
}

// Bounds: events that are charged after they have happened count like others, at the latest after
// the time for which events may be held.
func boundsCharged(e *env) {
	e.eachBound(e.boundsLong(), e.backends(), func(b *bounded) {
		if isQueue(b.policy) {
			return // a debt does not use up its places
		}
		b.nextWindow()
		used, whole := b.hold(), b.whole()
		for ; used < whole; used++ {
			b.charge(b.limiters[0], "k", 1)
		}
		b.rest(b.limiters, "k", used, whole)
	})
}

// Bounds: a forgotten key has the events of a new key, at the latest after the time for which
// events may be held, and no more, also in a store that held events of it. No other key is granted
// events again.
func boundsForgotten(e *env) {
	e.eachBound(e.boundsLong(), e.backends(), func(b *bounded) {
		b.nextWindow()
		others, _ := b.exhaust(b.limiters[0], "another", b.whole())
		b.hold()
		if err := b.limiters[0].Reset(context.Background(), "k"); err != nil {
			b.Fatalf("%s: Reset failed: %v", errorsRule, err)
		}
		granted, _ := b.exhaust(b.limiters[0], "k", b.whole())
		b.rest(b.limiters, "k", granted, b.whole())
		b.rest(b.limiters, "another", others, b.whole())
	})
}

// Bounds: events that one policy has granted count for a policy of the same name with another limit,
// at the latest after the time for which events may be held.
func boundsChanged(e *env) {
	e.eachBound(e.boundsLong(), 1, func(b *bounded) {
		w, ok := b.policy.(weir.FixedWindow)
		if !ok {
			return // not all policies of two limits count alike
		}
		b.nextWindow()
		used := b.useUpBut(boundsLimit / 4)
		for _, limit := range []int{w.Limit / 2, w.Limit + 10} {
			w.Limit = limit
			b.rest([]limiter{b.limiterOn(b.store, w, "")}, "k", used, max(limit, used))
		}
	})
}

// charge charges n events regardless of what is left.
func (b *bounded) charge(l limiter, key string, n int) {
	b.Helper()
	var r weir.Reservation
	err := l.ReserveNow(context.Background(), key, 0, &r, nil)
	if err == nil {
		err = r.Settle(context.Background(), n)
	}
	if err != nil {
		b.Fatalf("%s: Settle(%s, %d) failed: %v", errorsRule, key, n, err)
	}
}

// hold takes so many single events of a new key that a store which takes events ahead of need does
// so. It returns how many it took.
func (b *bounded) hold() (taken int) {
	b.Helper()
	for range b.whole()/4 + 1 {
		if b.take(b.limiters[0], "k", 1).Allowed {
			taken++
		}
	}
	return taken
}

// useUpBut uses up all events of a new key but n, and returns how many these are.
func (b *bounded) useUpBut(n int) int {
	b.Helper()
	used := b.whole() - n
	if r := b.take(b.limiters[0], "k", used); !r.Allowed {
		b.Fatalf("%s: %#v: of a new key %d events are denied: %+v", earlyRule, b.policy, used, r)
	}
	return used
}
