package weir

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// plans are the policies of a limiter: one for all keys, or others for some.
type plans struct {
	name   string
	named  bool // by WithName, even if the name is empty
	clock  *nanoClock
	usual  atomic.Pointer[Plan]                       // of the policy that New or SetPolicy was given
	forKey func(ctx context.Context, k string) Policy // or nil

	known *knownPlans // what forKey returned
}

// WithPolicyFor sets a function that chooses the policy of each key, such as the plan of a
// customer. If it returns nil or a nil pointer, the policy is the one given to [New], or the one
// that [KeyedLimiter.SetPolicy] has set since.
//
// The function is called once for each decision, and several times by [KeyedLimiter.Wait],
// concurrently. It gets the context of the call. [KeyedLimiter.Allow] has none and passes
// context.Background(). The function should be fast: look the policy up, and do not fetch it over a
// network.
//
//   - A policy in use costs one lookup in a map. It does not allocate if the function returns a
//     stored Policy.
//   - Up to 100,000 different policies can be in use. Above the first thousand, a policy is in use
//     from its second call on.
//   - Other policies are prepared again for each call: those above that number, those unused for
//     long, and those that are not comparable.
//
// A key whose policy changes keeps its used-up share, as [KeyedLimiter.SetPolicy] describes. An
// invalid policy is an error of the call.
func WithPolicyFor(policy func(ctx context.Context, key string) Policy) Option {
	return func(k *KeyedLimiter) error {
		if policy == nil {
			return errors.New("weir: WithPolicyFor(nil), must be a function")
		}
		k.plans.forKey = policy
		return nil
	}
}

// SetPolicy changes the policy of a limiter in use. It replaces the policy given to [New]. Where
// [WithPolicyFor] chooses another policy for a key, that one stays.
//
// A change gives no fresh allowance, and shuts no key:
//
//   - If only the Limit of a window or log changes, every counted event stays counted. The same
//     holds for Burst or Capacity of a bucket. A raised limit opens a used-up key at once, by the
//     difference.
//   - After any other change, the used-up share of the old policy is charged to the new one. This
//     lasts until the old policy forgets those events, and for the span of the new policy at most.
//     That span begins with the first request for events after the change. Then the old policy is
//     forgotten.
//   - Parts of [All] and [Tiers] that stay keep their counts.
//
// docs/limits.md has a table with examples. To start afresh, give the limiter another name, or call
// [KeyedLimiter.Reset] for one key.
//
// Waiters get new turns at once, in the same order. If the new policy is faster, their turns come
// sooner. A Wait fails if the new policy can never grant its events, or has no room in its queue.
//
// If p is invalid, SetPolicy returns an error and changes nothing. Any other error wraps that of
// the store or of ctx. The policy is then changed, but some waiters have kept their old turns, or
// failed with that error.
func (k *KeyedLimiter) SetPolicy(ctx context.Context, p Policy) error {
	if k == nil || k.store == nil {
		return errNotMade
	}
	s, err := k.plans.newPlan(p)
	if err != nil {
		return err
	}
	k.plans.usual.Store(s)
	for _, key := range k.lines.keys() {
		err = errors.Join(err, k.renew(ctx, key, false))
	}
	if err != nil {
		return fmt.Errorf("weir: SetPolicy: %w", err)
	}
	return nil
}

// newPlan prepares a policy for use.
func (p *plans) newPlan(policy Policy) (*Plan, error) {
	if nilPolicy(policy) {
		return nil, fmt.Errorf("weir: the Policy is %s, must be one", nilText(policy))
	}
	decider, err := policy.Decider()
	if err != nil {
		return nil, err
	}
	return &Plan{Name: p.name, Policy: policy, Decider: decider, clock: p.clock}, nil
}

// of returns the plan of a key.
func (p *plans) of(ctx context.Context, key string) (*Plan, error) {
	if p.forKey == nil {
		return p.usual.Load(), nil
	}
	return p.chosen(ctx, key)
}

func (p *plans) chosen(ctx context.Context, key string) (*Plan, error) {
	policy := p.forKey(ctx, key)
	if policy == nil {
		return p.usual.Load(), nil
	}
	s, ok := p.known.find(policy)
	if s != nil {
		return s, nil
	}
	if nilPolicy(policy) { // asked this late, it costs the others nothing
		return p.usual.Load(), nil
	}
	s, err := p.newPlan(policy) // which may take long, so others don't wait for it
	if err != nil || !ok {
		return s, err
	}
	return p.known.keep(s), nil
}
