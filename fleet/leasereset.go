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
	lost := false
	for _, k := range keys {
		k.mu.Lock()
		if l := k.lease.Swap(nil); l != nil {
			left, dead := l.end()
			lost = k.returnable(l, left+dead) > 0 || lost
		}
		k.mu.Unlock()
	}
	a, err := s.forgetNow(ctx, keys, r)
	if err != nil && lost && s.report != nil {
		s.report(err)
	}
	return a, err
}

// forgetNow lets the store forget a key, of which nothing is held.
func (s *LeaseStore) forgetNow(ctx context.Context, keys []*leasedKey, r weir.Request) (weir.Answer, error) {
	for _, k := range keys {
		if err := k.backs.wait(ctx); err != nil { // for those that have begun meanwhile
			return weir.Answer{}, err
		}
	}
	return s.store.Do(ctx, r)
}
