package storetest

import (
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// Expiry: by a clock that cannot be set, a state is kept as long as it matters. Then the key is
// like a new key. The instants come from the answers. Some states are kept for more than a second,
// and less than two: a time to live in whole seconds must be rounded up. Some must be kept for
// longer after a second event. One must be kept for longer than is needed by the policy that has
// counted last.
func expiresInRealTime(e *env) {
	const short, per = 300 * time.Millisecond, 1400 * time.Millisecond
	var all []*usedKey
	for _, uses := range []struct {
		limit int
		per   time.Duration
	}{{1, short}, {1, per}, {2, per}} {
		for _, p := range shapes(uses.limit, uses.per) {
			p.name += fmt.Sprintf(", %d per %v", uses.limit, uses.per)
			all = append(all, e.use(p, uses.limit, uses.per))
		}
	}
	if !e.bounds { // else what another policy has granted may not count at once
		all = append(all, e.useAndChange(weir.SlidingLog{Limit: 2, Per: per}, weir.SlidingLog{Limit: 8, Per: short}))
	}
	for left := len(all); left > 0; time.Sleep(short / 20) {
		left = 0
		for _, k := range all {
			if k.goOn() {
				left++
			}
		}
	}
	if e.bounds {
		return // Remaining may have any value
	}
	for _, k := range all[:len(shapes(1, short))] { // the others would take long
		time.Sleep(time.Until(k.granted.Add(2*short + short/2)))
		if r := e.take(k.limiter, "k", 0); !e.same(r, k.fresh) {
			e.Fatalf("%s: %s: long after its reset: %+v; a key never seen: %+v", r6, k.name, r, k.fresh)
		}
	}
}

// A usedKey is a key that has been granted events. The test asks it for more until enough requests
// are granted.
type usedKey struct {
	named
	limiter
	env     *env
	model   *model
	fresh   weir.Result   // of a key never seen
	n       int           // how many events are asked for at once
	left    int           // how many requests are to be granted
	every   time.Duration // from one request to the next
	next    time.Time
	granted time.Time     // when the latest request was granted, or when the test began
	most    time.Duration // after granted plus most, no policy has a reason to deny
}

// use takes an event of a new key. If the policy grants two, the second is to be taken when two
// thirds of the period have passed. Then as many more are to be granted.
func (e *env) use(p named, limit int, per time.Duration) *usedKey {
	l := e.limiter(p.Policy, p.name)
	k := &usedKey{
		named: p, limiter: l, env: e, model: e.model(p.Policy), fresh: e.take(l, "never seen", 0),
		n: 1, left: 2 * limit, every: per / 20, granted: time.Now(), most: max(e.patience, 4*per) + e.early,
	}
	k.goOn()
	if limit > 1 {
		k.next = time.Now().Add(per * 2 / 3)
	}
	return k
}

// useAndChange takes an event by the policy p, and then one by a policy that remembers its events
// for a shorter time. After that, p is to grant as many events at once as its Limit. It can do so
// only when it no longer counts its own event.
func (e *env) useAndChange(p, by weir.SlidingLog) *usedKey {
	k := e.use(named{"SlidingLog, changed", p}, 1, p.Per)
	k.model.rules = e.model(p, by).rules
	a := e.do(e.limiter(by, k.name), "k", weir.Ask{N: 1})
	k.model.doBy(1, "k", time.Unix(0, a.At), weir.Ask{N: 1})
	k.n = p.Limit
	return k
}

// goOn makes the next request when it is time. If the request is granted, it checks that the policy
// grants it at that instant. goOn reports whether more requests are to be granted.
func (k *usedKey) goOn() bool {
	now := time.Now() // before it asks: this process may be the one that is slow
	if k.left == 0 || now.Before(k.next) {
		return k.left > 0
	}
	k.next = now.Add(k.every)
	a := k.env.do(k.limiter, "k", weir.Ask{N: k.n})
	if !a.Allowed {
		if now.Sub(k.granted) > k.most {
			k.env.Fatalf("%s: %s: events were used, and %d are denied ever since: %+v", r6, k.name, k.n, a)
		}
		return true
	}
	w, _ := k.Policy.(weir.FixedWindow)
	before := w.FromFirst && k.env.bounds // its window may have begun before, with an event that was not used
	if want := k.model.do("k", time.Unix(0, a.At), weir.Ask{N: k.n}); !want.Allowed && !before {
		k.env.Fatalf("%s: %s: at %d %d events were granted, and the policy denies them: %+v", r6, k.name, a.At, k.n, want)
	}
	k.left, k.granted = k.left-1, now
	return k.left > 0
}
