package storetest

import (
	"context"

	"github.com/weir-go/weir"
)

// borrow uses up a key, and charges it for more events. Once no store can hold events any more,
// none is granted before that debt is paid.
func (b *bounded) borrow(store int, key string) {
	b.Helper()
	if w, ok := b.policy.(weir.FixedWindow); ok && w.FromFirst {
		return // its windows are checked afterwards, and a debt may exceed them
	}
	for i := 0; i <= 2*boundsLimit && b.ask(store, key, 0); i++ {
	}
	n := sizes[b.random.IntN(len(sizes))]
	b.charge(b.limiters[store], key, n)
	b.model.do(key, b.clock.Now(), weir.Ask{N: n, Mode: weir.Regardless})
	b.advance(b.up(b.early))
}

// book books events for a later instant, if the policy does that. The policy alone would not have
// told an earlier one.
func (b *bounded) book(store int, key string) {
	b.Helper()
	if !books(b.policy) {
		return
	}
	n := sizes[b.random.IntN(2)]
	r, err := b.limiters[store].Reserve(context.Background(), key, n)
	if err != nil {
		b.Fatalf("%s: Reserve(%s, %d) failed: %v", errorsRule, key, n, err)
	}
	b.key(key).asked[store] = b.now()
	if !r.Allowed {
		return // its queue is full, or its own store holds events
	}
	told := r.Delay()
	a := b.model.do(key, b.clock.Now(), weir.Ask{N: n, MaxWait: weir.Never})
	if !a.Allowed || told < a.Delay {
		b.Fatalf("%s: %#v: %d events of %s were booked for an instant %v ahead, before: %+v",
			overRule, b.policy, n, short(key), told, a)
	}
}
