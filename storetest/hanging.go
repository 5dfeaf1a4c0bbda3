package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// Hanging: while the backend gives no answer, each caller gets an error when its context ends, by a
// deadline or by being cancelled. It does not wait for other callers of the same key or of another
// one. When the backend answers again, the store does too. No request has been counted more than
// once.
func hangingBackend(e *env) {
	const limit = 1000
	l := e.limiter(weir.TokenBucket{Limit: limit, Per: e.long()}, "")
	e.take(l, hangingKeys[0], 1)
	resumed := sync.OnceFunc(e.hang(e.store))
	defer resumed()

	staying, stop := context.WithCancel(context.Background())
	defer stop()
	stayed := make(chan struct{}, len(hangingKeys))
	for _, key := range hangingKeys {
		go func() {
			_, _ = l.Take(staying, key, 1)
			stayed <- struct{}{}
		}()
	}
	time.Sleep(e.patience / 1000) // until they have begun to wait
	asked := 2 + e.leave(l)       // for each key
	resumed()
	stop()
	give := time.After(e.patience / 4)
	for range cap(stayed) {
		select {
		case <-stayed:
		case <-give:
			e.Fatalf("%s: the backend answers again, and a caller is held for %v after its context has ended", failureRule, e.patience/4)
		}
	}

	var r weir.Result
	err := errors.New("not asked")
	for give := time.Now().Add(e.patience); err != nil && time.Now().Before(give); {
		if r, err = l.Take(context.Background(), hangingKeys[0], 0); err != nil {
			time.Sleep(e.patience / 1000)
		}
	}
	if err != nil {
		e.Fatalf("%s: the backend answers again, and %v later the store does not: %v", failureRule, e.patience, err)
	}
	if used := limit - r.Remaining; !e.bounds && (used < 1 || used > asked) {
		e.Fatalf("%s: %d asks, the first before the backend hung, counted as %d", failureRule, asked, used)
	}
}

var hangingKeys = [...]string{"k", "another"}

// leave makes calls whose contexts end. The test fails if they return too late, as they do from a
// store that waits for its client, and not for the context. Because the machine may be slow, it is
// enough that the quickest of several calls returns soon, in one of several attempts. leave returns
// how many calls it made for each key.
func (e *env) leave(l limiter) (asked int) {
	const attempts = 3
	var late time.Duration
	for range attempts {
		var calls int
		calls, late = e.leaveOnce(l)
		if asked += calls; late < e.patience/50 {
			return asked
		}
	}
	e.Fatalf("%s: while the backend hangs, Take returns only %v after its context has ended", failureRule, late)
	return asked
}

// leaveOnce makes calls of Take of four kinds: for each of two keys, with a context that has a
// deadline, or one that is cancelled. It makes as many calls of Wait. They may return later than
// those of Take, because they wait for decisions that would have to be undone. leaveOnce returns
// how many calls it made for each key, and how late the quickest Take of the slowest kind was.
func (e *env) leaveOnce(l limiter) (asked int, late time.Duration) {
	const kinds, callers = 2 * len(hangingKeys), 2
	type call struct {
		kind int
		err  error
		late time.Duration
	}
	ends := time.Now().Add(e.patience / 100)
	calls := make(chan call, kinds*callers*2)
	for i := range kinds * callers {
		kind := i % kinds
		key := hangingKeys[kind/2]
		go func() {
			_, err := l.Take(e.ending(ends, kind%2 == 0), key, 1)
			calls <- call{kind, err, time.Since(ends)}
		}()
		go func() { calls <- call{kind, l.Wait(e.ending(ends, false), key, 1), weir.Never} }()
	}
	quickest := [kinds]time.Duration{weir.Never, weir.Never, weir.Never, weir.Never}
	give := time.After(e.patience / 4)
	for range cap(calls) {
		select {
		case c := <-calls:
			if c.err == nil && !e.bounds { // else the store may hold events
				e.Fatalf("%s: a backend that hangs granted an event", failureRule)
			}
			quickest[c.kind] = min(quickest[c.kind], c.late)
		case <-give:
			e.Fatalf("%s: while the backend hangs, a caller is held for %v after its context has ended",
				failureRule, e.patience/4-e.patience/100)
		}
	}
	return cap(calls) / len(hangingKeys), slices.Max(quickest[:])
}

// ending returns a context that ends at an instant, by a deadline or by being cancelled.
func (e *env) ending(at time.Time, deadline bool) context.Context {
	if deadline {
		ctx, cancel := context.WithDeadline(context.Background(), at)
		e.Cleanup(cancel)
		return ctx
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.Cleanup(cancel)
	time.AfterFunc(time.Until(at), cancel)
	return ctx
}
