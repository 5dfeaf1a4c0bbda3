package weir

import "context"

// TakeParts is [Keyed.Take] for a policy made by [All] or [Tiers]. It also sets *parts to the
// Results of the policy's parts, in their order. For other policies, and on an error, *parts is
// empty.
//
//   - With All, Allowed of a part reports whether that part alone would have granted the events.
//   - With Tiers the same holds for each tier up to the one that paid. The Results of the tiers
//     after it are looks.
//
// On an error the Result is zero, which denies. The errors are those of Take: an n below 0, a ctx
// that has ended, an invalid policy of [WithPolicyFor], or a failure of the store.
//
// To avoid allocations, use one slice again and again. parts may be nil. TakeParts is safe for
// concurrent use, if each call has a slice of its own.
func (k *Keyed) TakeParts(ctx context.Context, key string, n int, parts *[]Result) (Result, error) {
	if parts == nil {
		parts = new([]Result)
	}
	*parts = (*parts)[:0]
	a, err := k.answer(ctx, key, Ask{N: n, Parts: parts})
	if err != nil {
		*parts = (*parts)[:0]
		return Result{}, callError("Take of", n, err)
	}
	return a.Result, nil
}
