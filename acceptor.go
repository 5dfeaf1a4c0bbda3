package weir

import (
	"fmt"
	"slices"
	"sync"
	"weak"
)

// An Acceptor is for implementers of stores. It is a [Store] that [New] asks whether it can serve a
// limiter. A Store does not have to be one.
//
//   - A Store reports faults of its own options here.
//   - It calls [Limiters.Accept], to find two limiters that would share their keys by accident.
//   - A Store in front of another calls [Accept] for that one.
type Acceptor interface {
	Store

	// Accept returns nil if the store can serve l. New returns the error. With a nil l, Accept
	// returns nil if the store can serve a limiter at all.
	Accept(l *KeyedLimiter) error
}

// Accept is for implementers of stores that stand in front of s. If s is an [Acceptor], it returns
// s.Accept(l). l may be nil. A nil s is an error.
func Accept(s Store, l *KeyedLimiter) error {
	if s == nil {
		return fmt.Errorf("weir: the Store is nil, must be one")
	}
	if a, ok := s.(Acceptor); ok {
		return a.Accept(l)
	}
	return nil
}

// Limiters is for implementers of stores. It is the set of limiters that a [Store] serves and that
// have no name. It keeps limiters with different policies from sharing their keys by accident. A
// Store embeds it, or calls it in an Accept method of its own.
//
// The zero value is ready. It does not keep the limiters alive. It must not be copied after first
// use, and is safe for concurrent use.
type Limiters struct {
	mu      sync.Mutex
	unnamed []unnamed // each has or had the first policy of the last
}

// unnamed is a limiter without a name. It may be garbage.
type unnamed struct {
	limiter weak.Pointer[KeyedLimiter]
	first   Policy
}

// Accept returns an error if l would share its keys by accident. This is so if l and another
// limiter in use both have no [WithName], and their policies differ. If the policy of a limiter was
// changed by [KeyedLimiter.SetPolicy], it is enough that its old or its new policy is the same.
func (ls *Limiters) Accept(l *KeyedLimiter) error {
	if l == nil || l.plans.named || l.plans.usual.Load() == nil {
		return nil
	}
	p := l.plans.usual.Load().Policy
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if n := len(ls.unnamed); n > 0 && !saySame(ls.unnamed[n-1].first, p) {
		for _, u := range ls.unnamed {
			if other := u.policy(); other != nil && !saySame(other, p) && !saySame(u.first, p) {
				return fmt.Errorf("weir: the store already serves a limiter without a name, of policy %v, "+
					"which would share its keys with this one, of policy %v: give each a name by WithName", other, p)
			}
		}
	}
	if len(ls.unnamed) == cap(ls.unnamed) { // before it grows
		ls.unnamed = slices.DeleteFunc(ls.unnamed, func(u unnamed) bool { return u.policy() == nil })
	}
	ls.unnamed = append(ls.unnamed, unnamed{weak.Make(l), p})
	return nil
}

// policy returns the limiter's current policy, or nil if it is no longer in use.
func (u unnamed) policy() Policy {
	if l := u.limiter.Value(); l != nil {
		if s := l.plans.usual.Load(); s != nil {
			return s.Policy
		}
	}
	return nil
}
