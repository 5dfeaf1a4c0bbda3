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
// With [TokenBucket] and [LeakyBucket] a waiter has a place in the policy's own queue, so that later
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
	patience := k.patience(ctx)
	w, err := k.lines.joinUnbooked(key, n, k.scope.Now(), patience)
	if err != nil {
		return err
	}
	if w == nil { // nobody waits, or those who do have booked
		w, err = k.book(ctx, key, n, patience)
	}
	if w == nil {
		return err
	}
	return k.await(ctx, w)
}

// book asks for n events now or later. It returns no waiter if they are granted now, or with an
// error.
func (k *Keyed) book(ctx context.Context, key string, n int, patience time.Duration) (*waiter, error) {
	if err := k.lines.startBooking(ctx, key); err != nil {
		return nil, err
	}
	defer k.lines.endBooking(key)
	var read atomic.Int64
	read.Store(-1)
	a, err := k.store.Do(ctx, Request{Scope: k.scope, Key: key, Ask: Ask{N: n, MaxWait: patience}, read: &read})
	now := read.Load()
	if now < 0 { // it decided by a clock of its own: rather too late than too early
		now = k.scope.Now()
	}
	switch {
	case err != nil:
		return nil, err
	case a.Allowed && a.Delay == 0:
		return nil, nil
	case a.Allowed:
		return k.lines.joinBooked(key, n, saturatingAdd(now, a.Delay)), nil
	}
	if err := refused(a, n, patience); err != nil {
		return nil, err
	}
	return k.lines.open(key, n, saturatingAdd(now, a.RetryAfter), a.Limit), nil
}

// patience is how long ctx lets its caller wait.
func (k *Keyed) patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return math.MaxInt64
	}
	return max(deadline.Sub(k.scope.clock.time()), 0)
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
func (k *Keyed) await(ctx context.Context, w *waiter) error {
	for ended := false; ; {
		now := k.scope.Now()
		turn, left := k.lines.turn(w, now)
		switch {
		case turn == granted:
			return nil
		case turn == mayAsk:
			patience := k.patience(ctx)
			if ended {
				patience = math.MaxInt64 // the error is then that of ctx
			}
			if err := k.askAgain(ctx, w, patience); err != errNotYet {
				return err
			}
			if !ended {
				continue
			}
		}
		if ended {
			return k.leave(ctx, w)
		}
		var timer <-chan time.Time
		if turn == first {
			timer = k.scope.clock.after(left)
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
func (k *Keyed) askAgain(ctx context.Context, w *waiter, patience time.Duration) error {
	a, err := k.store.Do(ctx, Request{Scope: k.scope, Key: w.line.key, Ask: Ask{N: w.n}})
	if err == nil && !a.Allowed {
		if err = refused(a, w.n, patience); err == nil {
			// A store that denies and says "now" must not keep w from seeing that ctx has ended.
			k.lines.postpone(w, saturatingAdd(k.scope.Now(), max(a.RetryAfter, 1)))
			return errNotYet
		}
	}
	k.lines.remove(w)
	return err
}

// returnWithin is how long one who has given up still waits for a store that is slow to take its
// place back. After that the place stays booked.
const returnWithin = time.Second

// leave takes w out of its line, because ctx has ended. What it had booked is given back, for those
// behind it.
func (k *Keyed) leave(ctx context.Context, w *waiter) error {
	if !w.line.booked {
		k.lines.remove(w)
		return ctx.Err()
	}
	key, back := w.line.key, time.Duration(0)
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnWithin)
	defer cancel()
	if k.lines.startReturn(soon, key) {
		a, err := k.store.Do(soon, Request{Scope: k.scope, Key: key, Ask: Ask{N: -w.n}})
		if err == nil {
			back = a.Delay
		}
	}
	k.lines.moveUp(w, back)
	k.lines.endReturn(key)
	return ctx.Err()
}

func saturatingAdd(now int64, d time.Duration) int64 {
	return int64(saturate(uint64(now) + uint64(d)))
}
