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
	usual  atomic.Pointer[Scope]                      // of the policy that New or SetPolicy was given
	forKey func(ctx context.Context, k string) Policy // or nil

	known *knownPlans // what forKey returned
}

// WithPolicyFor sets a function that chooses the policy of each key: customers have plans. If it returns
// nil, or a nil pointer, the policy is the one given to New, or to SetPolicy since. It is called once for each decision,
// and several times by [Keyed.Wait], concurrently, with the context of the call (of [Keyed.Allow],
// the background); so it should look the policy up, and not fetch it.
//
// A policy that is in use costs one lookup in a map. That does not allocate if the function returns a
// stored Policy. Up to 100,000 different policies can be in use; beyond the first thousand, one is in use
// from its second call on. Policies beyond that, policies that were not used for long, and policies that are
// not comparable are prepared again for each call.
//
// A key whose policy changes keeps what it has used up, as [Keyed.SetPolicy] tells. A policy at fault
// is an error of the call.
func WithPolicyFor(policy func(ctx context.Context, key string) Policy) Option {
	return func(k *Keyed) error {
		if policy == nil {
			return errors.New("weir: WithPolicyFor(nil), must be a function")
		}
		k.plans.forKey = policy
		return nil
	}
}

// SetPolicy changes the policy of a limiter in use. It takes the place of the one given to [New];
// so where [WithPolicyFor] chooses, it is for those keys that have no other.
//
// A change is no fresh allowance, and shuts no key:
//
//   - If only the Limit of a window or log changes, or only Burst or Capacity of a bucket, what was
//     counted stays counted, to the event. A raised limit opens a used-up key at once, by the difference.
//   - After any other change, the share that is used up of the old policy is charged to the new one:
//     until the old policy forgets those events, and for the span of the new policy at most. That span
//     begins with the first request for events after the change. Then the old policy is forgotten.
//   - Parts of [All] and [Tiers] that stay keep what they have counted.
//
// docs/limits.md has a table with examples. To start afresh, give the limiter another name, or call
// [Keyed.Reset] for one key.
//
// Waiters get new turns at once, in the same order: sooner if the new policy is faster. If it
// can never grant what one waits for, or has no room for it in its queue, its Wait fails.
//
// If the policy is at fault, SetPolicy returns an error, and changes nothing. After an error that wraps
// the store's, or that of ctx, the policy is changed, but some waiters have kept their old turn, or
// lost it to the error.
func (k *Keyed) SetPolicy(ctx context.Context, p Policy) error {
	if k == nil || k.store == nil {
		return errNotMade
	}
	s, err := k.plans.newScope(p)
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

// newScope makes a policy ready.
func (p *plans) newScope(policy Policy) (*Scope, error) {
	if nilPolicy(policy) {
		return nil, fmt.Errorf("weir: the Policy is %s, must be one", nilText(policy))
	}
	decider, err := policy.Decider()
	if err != nil {
		return nil, err
	}
	return &Scope{Name: p.name, Policy: policy, Decider: decider, clock: p.clock}, nil
}

// scope is that of a key.
func (p *plans) scope(ctx context.Context, key string) (*Scope, error) {
	if p.forKey == nil {
		return p.usual.Load(), nil
	}
	return p.chosen(ctx, key)
}

func (p *plans) chosen(ctx context.Context, key string) (*Scope, error) {
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
	s, err := p.newScope(policy) // which may take long, so others don't wait for it
	if err != nil || !ok {
		return s, err
	}
	return p.known.keep(s), nil
}
