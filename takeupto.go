package weir

import "context"

// TakeUpTo takes as many of n events as there are, and returns how many were granted. It is for
// work that can be done in parts, such as a bulk mailing.
//
// If no event is granted the Result denies. Its RetryAfter is the time until there is one event.
// Unlike with [KeyedLimiter.Take], no n is too large. With n = 0 it only looks.
//
// A call costs the same as a call of Take. A loop that asks for all remaining events makes one call
// for each batch, not one for each event.
//
// An error means that there is no decision. An n below 0 and a ctx that has ended are errors. It is
// safe for concurrent use.
func (k *KeyedLimiter) TakeUpTo(ctx context.Context, key string, n int) (granted int, r Result, err error) {
	a, err := k.answer(ctx, key, Ask{N: n, Mode: UpTo})
	if err != nil {
		return 0, Result{}, callError("TakeUpTo", n, err)
	}
	return a.Granted, a.Result, nil
}

// answer asks the store by the policy of the key.
func (k *KeyedLimiter) answer(ctx context.Context, key string, ask Ask) (Answer, error) {
	if err := k.check(ctx, ask.N); err != nil {
		return Answer{}, err
	}
	plan, err := k.plans.of(ctx, key)
	if err != nil {
		return Answer{}, err
	}
	return k.store.Do(ctx, Request{Plan: plan, Key: key, Ask: ask})
}
