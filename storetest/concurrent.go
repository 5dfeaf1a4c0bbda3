package storetest

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

const goroutines = 16

// parallel runs f in n goroutines, which start together, and waits for them to end.
func parallel(n int, f func(g int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	for g := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			f(g)
		})
	}
	done.Wait()
}

// allowed is take, or Allow, for use by many goroutines. An error counts as a denial. An
// error of take also fails the test; Allow does not return it.
func (e *env) allowed(l limiter, key string, n int) bool {
	if n == 1 {
		return l.Allow(key)
	}
	r, err := l.Take(context.Background(), key, n)
	if err != nil {
		e.Errorf("%s: Take(%s, %d) failed: %v", errorsRule, short(key), n, err)
	}
	return r.Allowed
}

// ask is do for many goroutines.
func (e *env) ask(l limiter, key string, ask weir.Ask) weir.Answer {
	a, err := l.store.Do(context.Background(), weir.Request{Plan: l.plan, Key: key, Ask: ask})
	if err != nil {
		e.Errorf("%s: Do(%s, %+v) failed: %v", errorsRule, short(key), ask, err)
	}
	return a
}

// R10: while time stands still, 16 goroutines with 2,000 takes each are granted exactly Limit. Asks
// for several events, looks, and asks that never fit are among them. A queue is asked to book: it
// has Capacity + 1 places, including the one at the outlet.
func concurrentTakes(e *env) {
	limit, takes := e.few(16000), e.few(2000)
	if e.realTime {
		limit = e.few(1000) // the log keeps an entry for each instant
	}
	e.each(every(limit, e.long()), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		if isQueue(p) {
			var places atomic.Int64
			parallel(goroutines, func(int) {
				for range takes {
					if e.ask(l, "k", weir.Ask{N: 1, MaxWait: weir.Never}).Allowed {
						places.Add(1)
					}
				}
			})
			if int(places.Load()) != limit+1 {
				e.Fatalf("%s: %d were booked in a queue of %d, want %d", r10, places.Load(), limit, limit+1)
			}
			return
		}
		var granted atomic.Int64
		parallel(goroutines, func(g int) {
			for i := range takes {
				n := 1 + (g+i)%3
				switch i % 16 {
				case 5:
					n = 0
				case 10:
					n = limit + 1
				}
				if e.allowed(l, "k", n) {
					granted.Add(int64(n))
				}
			}
		})
		last, _ := e.exhaust(l, "k", limit)
		got := int(granted.Load()) + last
		if got < limit && e.early > 0 { // it may deny for so long; what is earned meanwhile may be granted, too
			e.advance(e.up(e.early))
			last, _ = e.exhaust(l, "k", limit)
			got = min(got+last, limit)
		}
		if got != limit {
			e.Fatalf("%s: %d goroutines were granted %d events, want exactly %d", r10, goroutines, got, limit)
		}
	})
}

// R10: two limiters of one name have different policies, and goroutines ask both for one key at the
// same time. Together they grant no more than the policy with the larger limit alone. They grant at
// least what the other policy grants alone, less an event that is lost where shares are rounded.
func concurrentPolicies(e *env) {
	small := max(e.few(40), 10)
	large := 2 * small
	ps, qs := shapes(small, e.long()), shapes(large, e.long())
	for i, p := range ps {
		q := qs[(i+len(qs)/2)%len(qs)] // of another kind
		name := p.name + " and " + q.name
		ls := []limiter{e.limiter(p.Policy, name), e.limiter(q.Policy, name)}
		var granted atomic.Int64
		parallel(goroutines, func(g int) {
			for i := range large / 4 {
				if e.allowed(ls[(g+i)%2], "k", 1) {
					granted.Add(1)
				}
			}
		})
		got := int(granted.Load())
		for _, l := range ls {
			last, _ := e.exhaust(l, "k", large)
			got += last
		}
		if queue := isQueue(p.Policy) || isQueue(q.Policy); got > large || !queue && got < small-1 {
			e.Fatalf("%s: %s, with limits of %d and %d: %d goroutines were granted %d", r10, name, small, large, goroutines, got)
		}
	}
}

// R10: no update is lost and none is made twice, although none is denied. The states of these
// policies end the same, in whatever order the events come. They come by two limiters of one name: a
// store that makes the steps of each limiter one after another must do so for both together.
func concurrentChain(e *env) {
	takes := e.few(2000)
	for _, p := range []named{{"three words", chain{Per: e.long()}}, {"a word", tally{}}} {
		ls := []limiter{e.limiter(p.Policy, p.name), e.limiter(p.Policy, p.name)}
		parallel(goroutines, func(g int) {
			for i := range takes {
				e.allowed(ls[g%2], "k", 1-i%2)
			}
		})
		want := e.model(p.Policy).do("k", e.clock.Now(), weir.Ask{N: goroutines * takes / 2})
		if got := e.take(ls[0], "k", 0); got.Remaining != want.Remaining {
			e.Fatalf("%s: after %d single events of %d goroutines, by two limiters, a state of %s is not what these events lead to",
				r10, goroutines*takes/2, goroutines, p.name)
		}
	}
}

// R10: each of many goroutines gives back all events that it was granted. The events that were used
// up before stay used up, and no others do.
func concurrentReturns(e *env) {
	const used, limit = 500 - 3*goroutines, 500 // of which a day is a multiple, for the words of a bucket
	e.each(append(shapes(limit, e.long()), conserving(limit, e.long())...), func(e *env, p weir.Policy) {
		if isQueue(p) {
			e.Skip("a queue frees nothing ahead of which others were told their turn")
		}
		l := e.limiter(p, "")
		e.take(l, "k", used)
		before := e.take(l, "k", 0)
		parallel(goroutines, func(g int) {
			n := 1 + g%3
			for range e.few(500) {
				if !e.ask(l, "k", weir.Ask{N: n, MaxWait: weir.Never}).Allowed {
					e.Errorf("%s: %d were denied, with %d of %d used for long and %d for short at the most",
						r10, n, used, limit, 3*goroutines)
					return
				}
				e.ask(l, "k", weir.Ask{N: -n})
			}
		})
		if after := e.take(l, "k", 0); !e.same(before, after) {
			e.Fatalf("%s: taking and giving back by many goroutines changed %+v to %+v", r10, before, after)
		}
	})
}

// R10: many keys in use at once are granted the same as each of them alone.
func concurrentKeys(e *env) {
	const limit = 20
	keys, rounds := min(e.few(500), 50), max(e.few(5), 2) // together they ask for each key more often than it is granted
	for _, p := range every(limit, e.long()) {
		l := e.limiter(p.Policy, p.name)
		alone, _ := e.exhaust(l, "alone", limit)
		granted := make([]atomic.Int64, keys)
		parallel(goroutines, func(g int) {
			for i := range keys * rounds {
				if k := (g*7 + i) % keys; e.allowed(l, strconv.Itoa(k), 1) {
					granted[k].Add(1)
				}
			}
		})
		for k := range granted {
			if got := int(granted[k].Load()); got != alone {
				e.Fatalf("%s: %s: key %d of %d was granted %d, alone it gets %d", r10, p.name, k, keys, got, alone)
			}
		}
	}
}

// R10: while time moves, no instant and no end of a window lets more events through. In five
// periods, watched to their ends, every policy grants at most six times Limit. If a store reads the
// time and then waits for its turn, its late step must not undo what others have counted since.
func concurrentWhileTimeMoves(e *env) {
	const limit, per, periods = 50, time.Second, 5
	step := per / 50
	if testing.Short() {
		step = per / 20
	}
	asks := 1 + e.few(10) // of each goroutine from one instant to the next
	e.each(shapes(limit, per), func(e *env, p weir.Policy) {
		l := e.limiter(p, "")
		var granted atomic.Int64
		var over atomic.Bool
		began := e.clock.Now()
		parallel(goroutines/2, func(g int) {
			for i := 1; !over.Load(); i++ {
				if e.allowed(l, "k", 1+g%2) {
					granted.Add(int64(1 + g%2))
				}
				if g == 0 && i%asks == 0 {
					next := e.clock.Now().Add(step)
					if next.Sub(began) > periods*per {
						over.Store(true)
						return
					}
					e.set(next)
				}
				runtime.Gosched() // else the one that moves the clock waits for its slice of 10 ms
			}
		})
		if got := int(granted.Load()); got > (periods+1)*limit {
			e.Fatalf("%s: %d events were granted in %v, more than %d", r10, got, periods*per, (periods+1)*limit)
		}
	})
}
