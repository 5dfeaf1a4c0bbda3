package weir

import "context"

// TakeUpTo asks for n events, and takes as many of them as there are: it is for work that can be
// done in parts, such as a bulk mailing. It tells how many were granted. If that is none the Result
// denies, and its RetryAfter is the time until there is one; so, unlike with [Keyed.Take], no n is
// too large. With n = 0 it looks.
//
// A call costs what Take costs. A loop that asks for all that is left to do makes one call for
// each batch, not one for each event.
//
// An error means that there is no decision. An n below 0 and a ctx that has ended are errors. It is
// safe for concurrent use.
func (k *Keyed) TakeUpTo(ctx context.Context, key string, n int) (granted int, r Result, err error) {
	a, err := k.answer(ctx, key, Ask{N: n, How: UpTo})
	if err != nil {
		return 0, Result{}, callError("TakeUpTo", n, err)
	}
	return a.Granted, a.Result, nil
}

// answer asks the store by the policy of the key.
func (k *Keyed) answer(ctx context.Context, key string, ask Ask) (Answer, error) {
	if err := k.check(ctx, ask.N); err != nil {
		return Answer{}, err
	}
	scope, err := k.plans.scope(ctx, key)
	if err != nil {
		return Answer{}, err
	}
	return k.store.Do(ctx, Request{Scope: scope, Key: key, Ask: ask})
}
