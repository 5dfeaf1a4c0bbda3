package weir

import "fmt"

var errState = fmt.Errorf("%w: the state of the key is none that a policy leaves", ErrRequest)

// CheckState returns an error, which wraps [ErrRequest], if the state is none that d leaves. It is
// for stores whose states come back from outside of the process. A policy of another package is
// asked if its [Decider] has a method CheckState(state []uint64) error.
//
// The Deciders of this package return in bounded time, and without a panic, whatever the state; what
// they answer to one that they would not leave has no meaning.
func CheckState(d Decider, state []uint64) error {
	switch c := d.(type) {
	case interface{ CheckState(state []uint64) error }:
		if err := c.CheckState(state); err != nil {
			return fmt.Errorf("%w: %w", errState, err)
		}
	case sounder:
		if !c.sound(state) {
			return errState
		}
	}
	return nil
}

// A sounder is a [Decider] that can tell which states it may have left.
type sounder interface{ sound(state []uint64) bool }

func sound(d Decider, state []uint64) bool { return CheckState(d, state) == nil }

// broken is what is answered to a state that is not sound: a denial.
func broken() Answer { return Answer{Result: Result{RetryAfter: Never}} }

// sound checks where the parts lie, and each of them.
func (c *composed) sound(state []uint64) bool {
	if !c.laidOut(state) {
		return false
	}
	for i := range c.parts {
		from, to := c.span(state, i)
		if !sound(c.parts[i].Decider, state[from:to:to]) {
			return false
		}
	}
	return true
}

// laidOut tells whether each part has its words in a state. What a part that may grow has beyond those
// of a new state may be less than none, if it is a policy of another package.
func (c *composed) laidOut(state []uint64) bool {
	least := c.fixed
	if len(state) < least {
		return false
	}
	rest := false
	for i := range c.parts {
		p := &c.parts[i]
		switch {
		case p.length >= 0:
			more := int64(state[p.length])
			if more < -int64(p.size) || more > int64(len(state)-least-p.size) {
				return false
			}
			least += p.size + int(more)
		case p.grows:
			rest = true
		}
	}
	return len(state) == least || rest && len(state) > least
}
