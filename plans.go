package weir

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
)

// plans are the policies of a limiter: one for all keys, or others for some.
type plans struct {
	name   string
	clock  *nanoClock
	usual  atomic.Pointer[Scope]                      // of the policy that New or SetPolicy was given
	forKey func(ctx context.Context, k string) Policy // or nil

	mu    sync.Mutex                        // guards writes to known
	known atomic.Pointer[map[Policy]*Scope] // what forKey returned
}

// maxKnown bounds what is remembered of a forKey that makes up policies.
const maxKnown = 1024

// WithPolicyFor sets a function that chooses the policy of each key: customers have plans. If it returns
// nil, or a nil pointer, the policy is the one given to New, or to SetPolicy since. It is called once for each decision,
// and several times by [Keyed.Wait], concurrently, with the context of the call (of [Keyed.Allow],
// the background); so it should look the policy up, and not fetch it. A policy that it returned before
// costs a map's lookup, and no allocation if it was stored as a Policy; beyond 1024 different
// ones, and if it is not comparable, it is made ready again.
//
// A key whose policy changes keeps what it has used up, as [Carry] tells. A policy at fault is an
// error of the call.
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
// Keys keep what they have used up, as [Carry] tells: a changed limit is no fresh allowance. Those
// who wait are given new turns at once, in the same order: sooner if the new policy is faster. If it
// can never grant what one waits for, or has no room for it in its queue, its Wait fails.
//
// It returns an error, and changes nothing, if the policy is at fault. An error that wraps the
// store's, or that of ctx, tells that the policy is changed, but some of those who wait have kept
// their old turn, or lost it to the error.
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
		err = errors.Join(err, k.retime(ctx, key))
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
	if s := find(*p.known.Load(), policy); s != nil {
		return s, nil
	}
	if nilPolicy(policy) { // asked this late, it costs the others nothing
		return p.usual.Load(), nil
	}
	if !comparable(policy) {
		return p.newScope(policy)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known := *p.known.Load()
	if s := known[policy]; s != nil {
		return s, nil
	}
	s, err := p.newScope(policy)
	if err != nil {
		return nil, err
	}
	more := make(map[Policy]*Scope, len(known)+1)
	if len(known) < maxKnown {
		maps.Copy(more, known)
	}
	more[policy] = s
	p.known.Store(&more)
	return s, nil
}

// find looks a policy up. One that cannot be compared is not there; to ask that first would take ten
// times as long as the look.
func find(known map[Policy]*Scope, policy Policy) *Scope {
	defer func() { _ = recover() }()
	return known[policy]
}
