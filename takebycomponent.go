package weir

import "context"

// TakeByComponent is [KeyedLimiter.Take] for a policy made by [All] or [Tiers]. It also sets
// *components to the Results of the policy's components, in their order. For other policies, and on
// an error, *components is empty.
//
//   - With All, Allowed of a component reports whether that component alone would have granted the
//     events.
//   - With Tiers the same holds for each tier up to the one that paid. The Results of the tiers
//     after it are looks.
//
// On an error the Result is zero, which denies. The errors are those of Take: an n below 0, a ctx
// that has ended, an invalid policy of [WithPolicyFor], or a failure of the store.
//
// To avoid allocations, use one slice again and again. results may be nil. TakeByComponent is safe
// for concurrent use, if each call has a slice of its own.
func (k *KeyedLimiter) TakeByComponent(ctx context.Context, key string, n int, results *[]Result) (Result, error) {
	if results == nil {
		results = new([]Result)
	}
	*results = (*results)[:0]
	a, err := k.answer(ctx, key, Ask{N: n, ByComponent: results})
	if err != nil {
		*results = (*results)[:0]
		return Result{}, callError("Take of", n, err)
	}
	return a.Result, nil
}
