package weir

import "context"

// TakeParts is [Keyed.Take], and puts the Result of each part of a policy made by [All] or [Tiers] into
// *parts, in their order and in place of what is there. For other policies, and if there is an error,
// it leaves *parts empty.
//
// With All, Allowed of a part tells whether it alone would have granted. With Tiers it is so up to the
// tier that paid; of those after it the Result is a look.
//
// The errors are those of Take: an n below 0, a ctx that has ended, a policy of [WithPolicyFor] at fault, or a
// failure of the store. The Result is then zero, which denies.
//
// A slice that is used again and again costs no allocation. parts may be nil. TakeParts is safe for concurrent
// use, each call with a slice of its own.
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
