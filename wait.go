package weir

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// Wait implements [Limiter]. Those who wait for a key in one process are granted in the order in
// which they arrived, whatever the policy. They share one timer.
//
// With [TokenBucket], [LeakyBucket] and [All] of such a waiter has a place in the policy's own queue, so that later
// calls of Allow and Take can't overtake it. One whose context ends gives its place back, and those
// behind it move up. They are those of this limiter: where limiters share a name, or processes a
// store, a place given back goes to whoever books next, and may so come at the same time as the last
// place of another.
func (k *Keyed) Wait(ctx context.Context, key string, n int) error {
	if k == nil || k.store == nil {
		return errNotMade
	}
	if n < 0 {
		return fmt.Errorf("weir: Wait for %d events, must be at least 0", n)
	}
	err := ctx.Err()
	if err == nil && n > 0 {
		err = k.wait(ctx, key, n)
	}
	if err != nil {
		return fmt.Errorf("weir: Wait for %d events: %w", n, err)
	}
	return nil
}

func (k *Keyed) wait(ctx context.Context, key string, n int) error {
	w, err := k.join(ctx, key, n)
	if w == nil {
		return err
	}
	// If the policy has changed meanwhile, whoever changed it may have looked for those who wait before w
	// was one of them. An error is that of w, too, or that of ctx.
	if scope, err := k.plans.scope(ctx, key); err == nil && k.lines.outdated(scope, key) {
		_ = k.retime(ctx, key)
	}
	return k.await(ctx, key, w)
}

// join asks for n events now or later. It returns no waiter if they are granted now, or with an
// error.
func (k *Keyed) join(ctx context.Context, key string, n int) (*waiter, error) {
	scope, err := k.plans.scope(ctx, key)
	if err != nil {
		return nil, err
	}
	if k.plans.forKey != nil && k.lines.outdated(scope, key) {
		if err := k.retime(ctx, key); err != nil {
			return nil, err
		}
	}
	if ctx, err = k.lines.start(ctx, key, booking); err != nil {
		return nil, err
	}
	defer k.lines.end(key)
	patience := k.patience(ctx)
	if w, err := k.lines.joinUnbooked(key, n, k.plans.clock.now(), patience); w != nil || err != nil {
		return w, err
	}
	// Nobody waits, or those who do have booked.
	if scope, err = k.plans.scope(ctx, key); err != nil { // now that no change of it is under way
		return nil, err
	}
	a, now, err := k.ask(ctx, scope, key, Ask{N: n, MaxWait: patience})
	switch {
	case err != nil:
		return nil, err
	case a.Allowed && a.Delay == 0:
		return nil, nil
	case a.Allowed:
		return k.lines.joinBooked(scope, key, n, saturatingAdd(now, a.Delay)), nil
	}
	if err := refused(a, n, patience); err != nil {
		return nil, err
	}
	return k.lines.open(scope, key, n, saturatingAdd(now, a.RetryAfter), a.Limit), nil
}

// ask asks the store, and tells the instant of its answer by the limiter's clock.
func (k *Keyed) ask(ctx context.Context, s *Scope, key string, ask Ask) (Answer, int64, error) {
	var read atomic.Int64
	read.Store(-1)
	a, err := k.store.Do(ctx, Request{Scope: s, Key: key, Ask: ask, read: &read})
	now := read.Load()
	if now < 0 { // it decided by a clock of its own: rather too late than too early
		now = s.Now()
	}
	return a, now, err
}

// patience is how long ctx lets its caller wait.
func (k *Keyed) patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return math.MaxInt64
	}
	return max(deadline.Sub(k.plans.clock.time()), 0)
}

// refused is the error for a denial of n events that waiting does not mend, or nil.
func refused(a Answer, n int, patience time.Duration) error {
	switch {
	case a.RetryAfter == Never && n > a.Limit:
		return ErrNeverFits
	case a.QueueFull:
		return ErrQueueFull
	case a.Delay > 0 || a.RetryAfter > patience || a.RetryAfter == Never: // in over 292 years
		return ErrTooLate
	}
	return nil
}

// await returns when w has had its turn, or ctx has ended. Only the first of a line watches the
// time; when it goes, it wakes the next.
func (k *Keyed) await(ctx context.Context, key string, w *waiter) error {
	for ended := false; ; {
		now := k.plans.clock.now()
		turn, left := k.lines.turn(w, now)
		switch {
		case turn == granted:
			return nil
		case turn == failed:
			return w.err
		case turn == mayAsk:
			patience := k.patience(ctx)
			if ended {
				patience = math.MaxInt64 // the error is then that of ctx
			}
			if err := k.askAgain(ctx, key, w, patience); err != errNotYet {
				return err
			}
			if !ended {
				continue
			}
		}
		if ended {
			return k.leave(ctx, key, w)
		}
		var timer <-chan time.Time
		if turn == first {
			timer = k.plans.clock.after(left)
		}
		select {
		case <-timer:
		case <-w.wake:
		case <-ctx.Done():
			ended = true // but whoever's turn has come by now is served
		}
	}
}

// askAgain asks the store for w, the first of a line that has not booked.
func (k *Keyed) askAgain(ctx context.Context, key string, w *waiter, patience time.Duration) error {
	stays := false
	defer func() { // even if the store panics, the next is to have its turn
		if !stays {
			k.lines.remove(w)
		}
	}()
	retimings := k.lines.retimings(w)
	scope, err := k.plans.scope(ctx, key)
	if err == nil {
		var a Answer
		var now int64
		a, now, err = k.ask(ctx, scope, key, Ask{N: w.n})
		if err == nil && !a.Allowed {
			if err = refused(a, w.n, patience); err == nil {
				// A store that denies and says "now" must not keep w from seeing that ctx has ended.
				k.lines.postpone(w, saturatingAdd(now, max(a.RetryAfter, 1)), a.Limit, retimings)
				stays = true
				return errNotYet
			}
		}
	}
	return err
}

// returnWithin is how long one who has given up still waits for a store that is slow to take its
// place back. After that the place stays booked.
const returnWithin = time.Second

// leave takes w out of its line, because ctx has ended. What it had booked is given back, for those
// behind it.
func (k *Keyed) leave(ctx context.Context, key string, w *waiter) error {
	if k.lines.remove(w) {
		return ctx.Err()
	}
	k.lines.leaves(w)
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnWithin)
	defer cancel()
	back := time.Duration(0)
	if soon, err := k.lines.start(soon, key, returning); err == nil {
		defer k.lines.end(key)
		if k.lines.remove(w) { // the policy has changed meanwhile, and what it had booked is given back
			return ctx.Err()
		}
		if scope, err := k.plans.scope(soon, key); err == nil {
			if a, err := k.store.Do(soon, Request{Scope: scope, Key: key, Ask: Ask{N: -w.n}}); err == nil {
				back = a.Delay
			}
		}
	}
	k.lines.moveUp(w, back)
	return ctx.Err()
}

func saturatingAdd(now int64, d time.Duration) int64 {
	return int64(saturate(uint64(now) + uint64(d)))
}
