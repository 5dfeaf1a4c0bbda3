package weir

import (
	"context"
	"fmt"
)

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
	if k == nil || k.store == nil {
		return 0, Result{}, errNotMade
	}
	if n < 0 {
		return 0, Result{}, fmt.Errorf("weir: TakeUpTo %d events, must be at least 0", n)
	}
	if err := ctx.Err(); err != nil {
		return 0, Result{}, fmt.Errorf("weir: TakeUpTo: %w", err)
	}
	scope, err := k.plans.scope(ctx, key)
	if err != nil {
		return 0, Result{}, fmt.Errorf("weir: TakeUpTo: %w", err)
	}
	a, err := k.store.Do(ctx, Request{Scope: scope, Key: key, Ask: Ask{N: n, How: UpTo}})
	if err != nil {
		return 0, Result{}, fmt.Errorf("weir: TakeUpTo: %w", err)
	}
	return a.Granted, a.Result, nil
}
