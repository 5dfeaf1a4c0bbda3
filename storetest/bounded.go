package storetest

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir"
)

// A bounded has limiters of one name and policy, each with its own store on one backend, and the
// events that they were granted.
type bounded struct {
	*env
	policy   weir.Policy
	per      time.Duration
	limiters []limiter
	model    *model // has counted what was granted, and nothing else
	began    time.Time
	random   *rand.Rand
	keys     map[string]*boundedKey
}

// sizes are the numbers of events that are asked for.
var sizes = [...]int{1, 2, 7, boundsLimit / 4}

type boundedKey struct {
	asked []int64 // by store: when it was asked last
	spent []grant // of a window that starts with its first event
}

func (e *env) bounded(p weir.Policy, per time.Duration, stores int) *bounded {
	b := &bounded{
		env: e, policy: p, per: per, model: e.model(p), began: e.clock.Now(),
		random: rand.New(rand.NewPCG(3, 4)), keys: map[string]*boundedKey{},
	}
	b.limiters = append(b.limiters, e.limiter(p, ""))
	for len(b.limiters) < stores {
		b.limiters = append(b.limiters, e.limiterOn(e.alsoOn(), p, ""))
	}
	return b
}

func (b *bounded) key(name string) *boundedKey {
	k, ok := b.keys[name]
	if !ok {
		k = &boundedKey{asked: make([]int64, len(b.limiters))}
		b.keys[name] = k
	}
	return k
}

// would returns the answer of the policy alone, some time ago, to an ask for n events. The n events
// are not counted. All events granted until now are.
func (b *bounded) would(key string, n int, ago time.Duration) weir.Answer {
	_, a, _, err := b.model.states[key].Decide(b.model.rules[0], b.now()-int64(ago), weir.Ask{N: n})
	if err != nil {
		panic("storetest: " + err.Error()) // the state was left by a Ledger
	}
	return a
}

func (b *bounded) now() int64 { return b.clock.Now().UnixNano() }

// ask asks a store for sizes[size] events, and checks the answer. It reports whether they were
// granted.
func (b *bounded) ask(store int, key string, size int) bool {
	b.Helper()
	l, n := b.limiters[store], sizes[size]
	var r weir.Result
	if n == 1 && b.random.IntN(2) == 0 {
		r.Allowed = l.Allow(key)
	} else {
		r = b.take(l, key, n)
	}
	return b.answered(store, store, key, n, r)
}

// askOtherwise is ask by a request that need not use the events which its store holds.
func (b *bounded) askOtherwise(store int, key string, size int) {
	b.Helper()
	l, n := b.limiters[store], sizes[size]
	r := b.reserve
	if b.random.IntN(2) == 0 {
		r = b.takeByComponent
	}
	const none = -1
	b.answered(store, none, key, n, r(l, key, n))
}

// answered checks the answer of a store for n events, and counts those that were granted. They must
// not be denied because the store mine holds them.
func (b *bounded) answered(store, mine int, key string, n int, r weir.Result) bool {
	switch {
	case r.Allowed:
		b.granted(key, n)
	case r.RetryAfter == weir.Never:
		b.Helper()
		b.Fatalf("%s: %#v: %d events, which the policy will grant, are denied for ever: %+v", earlyRule, b.policy, n, r)
	default:
		b.denied(mine, key, n)
	}
	b.key(key).asked[store] = b.now()
	return r.Allowed
}

func (b *bounded) takeByComponent(l limiter, key string, n int) weir.Result {
	b.Helper()
	var parts []weir.Result
	r, err := l.TakeByComponent(context.Background(), key, n, &parts)
	if err != nil {
		b.Fatalf("%s: TakeByComponent(%s, %d) failed: %v", errorsRule, key, n, err)
	}
	return r
}

// reserve books n events that can go ahead now.
func (b *bounded) reserve(l limiter, key string, n int) weir.Result {
	b.Helper()
	r, err := new(weir.Reservation), error(nil)
	if books(b.policy) || b.random.IntN(2) == 0 { // a bucket might grant them for later
		err = l.ReserveNow(context.Background(), key, n, r, nil)
	} else {
		r, err = l.Reserve(context.Background(), key, n)
	}
	if err != nil {
		b.Fatalf("%s: Reserve(%s, %d) failed: %v", errorsRule, key, n, err)
	}
	return r.Result
}

// granted counts n events that a store has granted, and checks that the policy alone would have
// granted them.
func (b *bounded) granted(key string, n int) {
	k, now := b.key(key), b.clock.Now()
	ask := weir.Ask{N: n}
	if w, ok := b.policy.(weir.FixedWindow); ok && w.FromFirst {
		k.spent = append(k.spent, grant{n: n, at: b.now()})
		ask.Mode = weir.Regardless // its windows may have begun before, with an event that was not used
	}
	if a := b.model.do(key, now, ask); !a.Allowed {
		b.Helper()
		b.Fatalf("%s: %#v: after %v, %d events were granted, of which it had %d left for %s",
			overRule, b.policy, now.Sub(b.began), n, a.Remaining, short(key))
	}
}

// denied checks that a denial is not too early. The policy would have denied, too, if it had been
// asked earlier by the declared time. If not, another store must have been asked in that time, and
// may hold events.
func (b *bounded) denied(store int, key string, n int) {
	if !b.would(key, n, b.early).Allowed {
		return
	}
	for other, asked := range b.key(key).asked {
		if other != store && asked > b.now()-int64(b.early) {
			return
		}
	}
	b.Helper()
	b.Fatalf("%s: %#v: after %v, %d events of %s are denied, which the policy would have granted %v before; now: %+v",
		earlyRule, b.policy, b.clock.Now().Sub(b.began), n, short(key), b.early, b.would(key, n, 0).Result)
}

// useUp asks all stores in turn, for single events, until each denies. It returns how many were
// granted.
func (b *bounded) useUp(key string) int {
	b.Helper()
	granted, denials := 0, 0
	for i := 0; denials < len(b.limiters) && granted <= 3*boundsLimit; i++ {
		denials++
		if b.ask(i%len(b.limiters), key, 0) {
			granted, denials = granted+1, 0
		}
	}
	b.checkWindows(key)
	return granted
}

// whole returns how many single events the policy grants to a new key at this instant.
func (b *bounded) whole() int {
	fresh := b.env.model(b.policy)
	n := 0
	for fresh.do("", b.clock.Now(), weir.Ask{N: 1}).Allowed {
		n++
	}
	return n
}
