package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// Change: when a limiter of the same name has another policy, the used events still count. If both
// policies count events alike, all counted events are carried over. Otherwise the used share of the
// allowance is. A key that had used up all is denied, or has the events that a larger limit adds. A
// key that had used half has half left, or the limit less those events.
func changedPolicy(e *env) {
	const limit = 10
	for _, from := range shapes(limit, e.long()) {
		for _, to := range shapes(2*limit, e.long()) {
			name := from.name + " to " + to.name
			old, changed := e.limiter(from.Policy, name), e.limiter(to.Policy, name)
			adds, half := 0, limit
			if countsAlike(from.Policy, to.Policy) {
				adds, half = limit, 2*limit-limit/2
			}

			e.exhaust(old, "all", limit)
			if more, r := e.exhaust(changed, "all", limit); more != adds {
				e.Fatalf("%s: %s: all was used up, and the new policy granted %d more, want %d: %+v", changeRule, name, more, adds, r)
			}
			if r := e.take(old, "all", 1); r.Allowed {
				e.Fatalf("%s: %s and back: all was used up, and the old policy granted more: %+v", changeRule, name, r)
			}

			if r := e.take(changed, "none", 0); r.Remaining != 2*limit {
				e.Fatalf("%s: %s: nothing was used, and Remaining is %d, want %d", changeRule, name, r.Remaining, 2*limit)
			}

			if isQueue(from.Policy) || isQueue(to.Policy) {
				continue // it has everything left, or nothing
			}
			e.take(old, "half", limit/2)
			if r := e.take(changed, "half", 0); r.Remaining != half {
				e.Fatalf("%s: %s: half was used, and Remaining is %d, want %d", changeRule, name, r.Remaining, half)
			}
		}
	}
}

// countsAlike reports whether the counts of both policies have the same meaning.
func countsAlike(p, q weir.Policy) bool {
	switch p := p.(type) {
	case weir.TokenBucket:
		q, ok := q.(weir.TokenBucket)
		return ok && p.Limit == q.Limit && p.Per == q.Per
	case weir.LeakyBucket:
		q, ok := q.(weir.LeakyBucket)
		return ok && p.Limit == q.Limit && p.Per == q.Per
	case weir.FixedWindow:
		q, ok := q.(weir.FixedWindow)
		return ok && p.Per == q.Per && p.FromFirst == q.FromFirst
	case weir.SlidingWindow:
		q, ok := q.(weir.SlidingWindow)
		return ok && p.Per == q.Per && p.Buckets == q.Buckets
	case weir.SlidingLog:
		q, ok := q.(weir.SlidingLog)
		return ok && p.Per == q.Per
	}
	return false
}

func isQueue(p weir.Policy) bool {
	_, ok := p.(weir.LeakyBucket)
	return ok
}

// Change back and forth: two limiters of one name with different policies, used in turn, grant no
// more than the larger one alone. Processes with an old and a new configuration side by side do not
// switch the limit off.
func changedToAndFro(e *env) {
	const small, large = 7, 11
	turns := 60
	if testing.Short() {
		turns = 2 * large
	}
	per := e.long() - e.long()%(5*small*large)
	for i, p := range shapes(small, per) {
		for j, q := range shapes(large, per) {
			if testing.Short() && (i+2*j)%3 != 0 {
				continue
			}
			name := p.name + " and " + q.name
			ls := []limiter{e.limiter(p.Policy, name), e.limiter(q.Policy, name)}
			granted := 0
			for turn := range turns {
				n := 1 + turn%3*((i+j)%2) // single events, or up to three at once
				if e.take(ls[turn%2], "k", n).Allowed {
					granted += n
				}
			}
			if granted > large {
				e.Fatalf("%s: %s in turn, with limits of %d and %d, granted %d", changeRule, name, small, large, granted)
			}
		}
	}
}

// Change is exact: limiters of one name with different policies get, request by request, the
// answers of a Ledger. They may be more than two, and more than a Ledger keeps apart.
func changeIsExact(e *env) {
	const per = 10 * 7 * time.Second
	for _, p := range shapes(7, per) {
		for _, q := range shapes(14, per/2) {
			e.inTurn(e.few(300), p.Policy, q.Policy)
		}
	}
	for i, p := range shapes(7, per) {
		e.inTurn(e.few(300), p.Policy, shapes(14, per)[i].Policy) // only its numbers differ
	}
	for i := range shapes(7, per) {
		var many []weir.Policy
		for j := range 6 {
			all := shapes(7+7*(j%2), per<<j)
			many = append(many, all[(i+j)%len(all)].Policy)
		}
		e.inTurn(max(e.few(300), 40), many...)
	}
}

// inTurn asks with each of the policies, in a random order.
func (e *env) inTurn(steps int, ps ...weir.Policy) {
	name := fmt.Sprintf("%#v", ps)
	var ls []limiter
	var by []int
	for i, p := range ps {
		ls, by = append(ls, e.limiter(p, name)), append(by, i)
	}
	w := e.walk(changeRule, ps[0], 3, ls...)
	w.model, w.by = e.model(ps...), by
	w.run(steps)
}

// Policy: a policy that the store can't know decides as written. Its states may start without
// words, grow and shrink to any number of words, and contain any value. The policy gets the state
// that it left. The same holds for the policies of package weir. A store may run those in its own
// way, with the same answers.
func policyAsIs(e *env) {
	e.each(append(shapes(10, time.Second), custom(time.Second)...), func(e *env, p weir.Policy) {
		e.walk(policyRule, p, 5, e.limiter(p, "")).run(e.few(3000))
	})
}

// Policy: the longest state of a new key is kept whole. A store that has no room for it refuses the
// first request with an error that wraps ErrRequest.
func longestState(e *env) {
	const limit, buckets = 3, 100_000
	l := e.limiter(weir.SlidingWindow{Limit: limit, Per: e.long(), Buckets: buckets}, "")
	if _, err := l.Take(context.Background(), "k", 1); errors.Is(err, weir.ErrRequest) {
		return
	}
	if granted, _ := e.exhaust(l, "k", limit); granted != limit-1 {
		e.Fatalf("%s: with a state of %d words, %d of %d were granted after the first", policyRule, buckets+2, granted, limit)
	}
}

// Policy: a policy that contains a slice, a map or a function can't be compared with ==, which
// panics. A store that has to know whether the same policy left a state must find out in another
// way, such as by reflect.DeepEqual.
func uncomparablePolicy(e *env) {
	one, other := composed(e.long()), composed(e.long()) // grants 10
	other[1] = weir.FixedWindow{Limit: 5, Per: 5 * e.long()}
	a, b, c := e.limiter(one, ""), e.limiter(composed(e.long()), ""), e.limiter(other, "")
	e.take(a, "k", 4)
	if r := e.take(b, "k", 0); r.Remaining != 6 {
		e.Fatalf("%s: after 4 of 10, a limiter of the same policy has %d left, want 6", sharingRule, r.Remaining)
	}
	if r := e.take(c, "k", 0); r.Remaining != 3 {
		e.Fatalf("%s: after 4 of 10, a limiter of 5 has %d left, want 3", changeRule, r.Remaining)
	}
	if r := e.take(b, "k", 10); r.Allowed {
		e.Fatalf("%s: after 4 of 10, 10 more were granted", policyRule)
	}
}
