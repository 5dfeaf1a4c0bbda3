package weir

import (
	"fmt"
	"slices"
	"sync"
	"weak"
)

// An Acceptor is a [Store] that [New] asks whether it can serve a limiter. A Store need not be one.
//
// A Store reports here what is wrong with the options that it was made with. It also asks a [Limiters]
// whether two of its limiters would share their keys by accident. A Store that stands in front of
// another passes the question on, by [Accept].
type Acceptor interface {
	Store

	// Accept returns nil if the store can serve l. The error becomes one of New. With a nil l, it
	// returns nil if the store can serve a limiter at all.
	Accept(l *Keyed) error
}

// Accept asks s whether it can serve l, if s is an [Acceptor]. It is for stores that stand in front of
// s; l may be nil.
func Accept(s Store, l *Keyed) error {
	if s == nil {
		return fmt.Errorf("weir: the Store is nil, must be one")
	}
	if a, ok := s.(Acceptor); ok {
		return a.Accept(l)
	}
	return nil
}

// Limiters are the limiters that a [Store] serves, as far as they have no name. They keep two limiters
// of different policies from sharing their keys by accident. The zero value is ready. It does not keep the
// limiters alive, must not be copied after first use, and is safe for concurrent use.
//
// A Store embeds it, or calls it in an Accept method of its own.
type Limiters struct {
	mu      sync.Mutex
	unnamed []unnamed // each has or had the first policy of the last
}

// unnamed is a limiter without a name. It may be garbage.
type unnamed struct {
	limiter weak.Pointer[Keyed]
	first   Policy
}

// Accept returns an error if neither l nor another limiter that is in use was given a name by [WithName], and
// their policies differ. Of a limiter whose policy was changed by [Keyed.SetPolicy], either policy counts.
func (ls *Limiters) Accept(l *Keyed) error {
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

// policy is that of the limiter now, or nil if it is no longer in use.
func (u unnamed) policy() Policy {
	if l := u.limiter.Value(); l != nil {
		if s := l.plans.usual.Load(); s != nil {
			return s.Policy
		}
	}
	return nil
}
