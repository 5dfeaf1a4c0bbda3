package fleet

import (
	"context"
	"slices"

	"github.com/weir-go/weir"
)

// forget drops the events that are held of a key, for all policies, and lets the store forget the
// key. No lease is taken meanwhile. No give-back is under way that could free events which are
// counted after the key was forgotten. If the store fails, nobody knows whether it has forgotten the
// key. The events that were held are then not given back, because they may no longer be counted.
func (s *LeaseStore) forget(ctx context.Context, r weir.Request) (weir.Answer, error) {
	set := s.keys.madeSet(s.keys.hash(r.Plan, r.Key))
	set.resets.Add(1) // also for policies that ask for the key from now on
	defer set.resets.Add(-1)
	keys := slices.Collect(s.keys.like(r.Plan, r.Key))
	for _, k := range keys {
		f, err := k.alone(ctx)
		if err != nil {
			return weir.Answer{}, err
		}
		defer k.land(f, false, nil)
		if err := k.backs.wait(ctx); err != nil { // nothing is dropped yet
			return weir.Answer{}, err
		}
	}
	held := make([]dropped, 0, len(keys))
	for _, k := range keys {
		held = append(held, k.dropped())
	}
	for _, k := range keys { // for the give-backs that have begun meanwhile
		if err := k.backs.wait(ctx); err != nil { // the store was not asked
			for _, d := range held {
				s.backDropped(d)
			}
			return weir.Answer{}, err
		}
	}
	a, err := s.store.Do(ctx, r)
	lost := func(d dropped) bool { return d.lease != nil && d.key.returnable(d.lease, d.unused) > 0 }
	if err != nil && s.report != nil && slices.ContainsFunc(held, lost) {
		s.report(err)
	}
	return a, err
}

// dropped is a lease that a Reset has ended, or nil, and its unused events.
type dropped struct {
	key    *leasedKey
	lease  *lease
	unused int
}

// dropped is drop under the lock of the key.
func (k *leasedKey) dropped() dropped {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, unused := k.drop()
	return dropped{k, l, unused}
}

// backDropped gives back what a Reset has ended.
func (s *LeaseStore) backDropped(d dropped) {
	d.key.mu.Lock()
	defer d.key.mu.Unlock()
	if d.lease != nil {
		s.backLater(d.key, d.lease, d.unused)
	}
}
