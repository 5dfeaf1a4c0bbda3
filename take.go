package weir

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weir-go/weir/internal/text"
)

// Allow implements [Limiter]. It reports whether one event for key may happen now. If it may, Allow
// counts it. It also reports false if the store fails, or if the policy of [WithPolicyFor] is
// invalid.
//
// Allow has no context. With a store over a network, a call may take as long as the store's own
// timeout. To bound that time, use a Fallback of package [github.com/weir-go/weir/fleet], or
// [KeyedLimiter.Take] with a context. Allow is safe for concurrent use.
func (k *KeyedLimiter) Allow(key string) bool {
	if k == nil || k.store == nil {
		return false
	}
	plan, err := k.plans.of(context.Background(), key)
	if err != nil {
		return false
	}
	if k.mem != nil {
		return k.mem.allow(plan, key)
	}
	if k.quick != nil {
		if r, ok := k.quick.TakeQuickly(plan, key, 1); ok {
			return r.Allowed
		}
	}
	a, err := k.store.Do(context.Background(), Request{Plan: plan, Key: key, Ask: Ask{N: 1}})
	return err == nil && a.Allowed
}

// Take implements [Limiter]. It takes n events of key at once, all or none. With n = 0 it only
// looks (peeks), and counts nothing. A denial is not an error.
//
// An error means that there is no decision. The Result is then zero, which denies. The errors are:
//
//   - n is below 0
//   - ctx has ended
//   - the policy of [WithPolicyFor] is invalid
//   - the store returned an error; the events may then have been counted
//
// Take is safe for concurrent use.
func (k *KeyedLimiter) Take(ctx context.Context, key string, n int) (Result, error) {
	if err := k.check(ctx, n); err != nil { // planFor written out: the call would take a twentieth longer
		return Result{}, callError("Take of", n, err)
	}
	plan, err := k.plans.of(ctx, key)
	if err != nil {
		return Result{}, callError("Take of", n, err)
	}
	if k.mem != nil {
		mp, _, _, r, ok := k.mem.take(plan, key, n)
		decidedBy := 0
		if !ok && mp != nil && mp.admit != nil {
			r, decidedBy, ok = mp.memory.take(mp, plan, mp.hash(key), n)
		}
		if ok {
			return Result{
				Allowed: r.retryAfter == 0, Limit: mp.limit, DecidedBy: decidedBy,
				Remaining: r.remaining, RetryAfter: r.retryAfter, ResetAfter: r.resetAfter,
			}, nil
		}
	}
	if k.quick != nil {
		if r, ok := k.quick.TakeQuickly(plan, key, n); ok {
			return r, nil
		}
	}
	a, err := k.store.Do(ctx, Request{Plan: plan, Key: key, Ask: Ask{N: n}})
	if err != nil {
		return Result{}, callError("Take of", n, err)
	}
	return a.Result, nil
}

// TakeUpTo takes n events, or as many of them as one request is granted now. It returns how many
// were granted. It is for work that can be done in parts, such as a bulk mailing.
//
// If n is above 0 and no event is granted, the Result denies. Its RetryAfter is then that of a
// request for one event. n may be larger than what the policy ever grants at once, where
// [KeyedLimiter.Take] always denies. With n = 0, TakeUpTo only looks.
//
// Like Take, a call usually makes one request to the store. A loop that asks each time for all
// events that it still needs makes one call for each granted part, and one for each denial. If the
// loop waits only for RetryAfter, a part may be a single event. After a longer wait, the next part
// may be larger.
//
// An error means that there is no decision. The errors are those of Take. TakeUpTo is safe for
// concurrent use.
func (k *KeyedLimiter) TakeUpTo(ctx context.Context, key string, n int) (granted int, r Result, err error) {
	plan, err := k.planFor(ctx, key, n)
	if err != nil {
		return 0, Result{}, callError("TakeUpTo", n, err)
	}
	if k.mem != nil {
		if mp, _, _, all, ok := k.mem.take(plan, key, n); ok && all.retryAfter == 0 {
			return n, Result{Allowed: true, Limit: mp.limit, Remaining: all.remaining, ResetAfter: all.resetAfter}, nil
		}
	}
	a, err := k.store.Do(ctx, Request{Plan: plan, Key: key, Ask: Ask{N: n, Mode: UpTo}})
	if err != nil {
		return 0, Result{}, callError("TakeUpTo", n, err)
	}
	return a.Granted, a.Result, nil
}

// TakeByComponent is like [KeyedLimiter.Take], but returns more details. It is for programs that
// report these to clients. It sets MoreAfter in the Result. For a policy made by [All] or [Tiers],
// it also sets *results to the Results of the policy's components, in their order. For other
// policies, and on an error, *results is empty.
//
//   - Allowed of a component reports whether that component alone would have granted the events.
//   - With [Tiers], the tiers after the tier that paid are not asked for the events. Their Results
//     are those of a look: a call for no events.
//   - After a change of policy, while events of the old policy still count, the RetryAfter of a
//     component that did not decide may be inexact. While events of the old policy are charged to
//     the new one, the MoreAfter of a component is not known.
//
// On an error the Result is zero, which denies. The errors are those of Take.
//
// To avoid allocations, use one slice again and again. If results is nil, only the Result is
// returned. TakeByComponent is safe for concurrent use, if each call has a slice of its own.
func (k *KeyedLimiter) TakeByComponent(ctx context.Context, key string, n int, results *[]Result) (Result, error) {
	empty(results)
	plan, err := k.planFor(ctx, key, n)
	if err != nil {
		return Result{}, callError("TakeByComponent of", n, err)
	}
	if k.mem != nil {
		if mp, next, now, r, ok := k.mem.take(plan, key, n); ok {
			return Result{
				Allowed: r.retryAfter == 0, Limit: mp.limit, Remaining: r.remaining,
				RetryAfter: r.retryAfter, ResetAfter: r.resetAfter, MoreAfter: mp.admitWord.more(next, now, r),
			}, nil
		}
	}
	a, err := k.store.Do(ctx, Request{Plan: plan, Key: key, Ask: Ask{N: n, ByComponent: results, More: true}})
	if err != nil {
		empty(results)
		return Result{}, callError("TakeByComponent of", n, err)
	}
	return a.Result, nil
}

// planFor returns the plan for a call for n events.
func (k *KeyedLimiter) planFor(ctx context.Context, key string, n int) (*Plan, error) {
	if err := k.check(ctx, n); err != nil {
		return nil, err
	}
	return k.plans.of(ctx, key)
}

func empty(results *[]Result) {
	if results != nil {
		*results = (*results)[:0]
	}
}

var errNegative = errors.New("must be at least 0")

// callError returns the error of a call for n events.
func callError(what string, n int, err error) error {
	switch err {
	case nil, errNotMade:
		return err
	case errNegative:
		return fmt.Errorf("weir: %s %d events, %w", what, n, err)
	}
	return failed(fmt.Sprintf("%s %d events", what, n), err)
}

// failed returns err with the name of the call before it. It returns nil and errNotMade as they
// are.
func failed(call string, err error) error {
	if err == nil || err == errNotMade {
		return err
	}
	return text.Fault{Where: call, Err: noEnd(err)}
}

// noEnd returns err in a form in which [errors.Is] does not find [io.EOF], but finds everything
// else. A store whose server has closed the connection may fail with io.EOF. If a reader that asks
// a limiter returned that error, its caller would believe that everything was read.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return notEnd{err}
	}
	return err
}

// A notEnd has err as a field and does not embed it. Otherwise go doc would not list New beside
// KeyedLimiter.
type notEnd struct{ err error }

func (e notEnd) Error() string { return e.err.Error() }

// Is and As are for package errors, in place of Unwrap.
func (e notEnd) Is(target error) bool { return target != io.EOF && errors.Is(e.err, target) }
func (e notEnd) As(target any) bool   { return errors.As(e.err, target) }
