package weir

import "fmt"

var errState = fmt.Errorf("%w: the state of the key is none that a policy leaves", ErrRequest)

// CheckState is for implementers of stores whose states come from outside of the process. It
// returns an error that wraps [ErrRequest] if d never leaves such a state. If the [Decider] has a
// method CheckState(state []uint64) error, CheckState calls it. Policies of other packages may have
// one.
//
// The Deciders of this package return in bounded time, without a panic, whatever the state. Their
// answer to a state that they never leave has no meaning.
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

// A sounder is a [Decider] that reports whether it may have left a state.
type sounder interface{ sound(state []uint64) bool }

func sound(d Decider, state []uint64) bool { return CheckState(d, state) == nil }

// broken is the answer to a state that is not sound: a denial.
func broken() Answer { return Answer{Result: Result{RetryAfter: Never}} }

// sound checks the places of the parts, and each part.
func (c *composed) sound(state []uint64) bool {
	all := true
	return walk(c, state, func(leaf Decider, words []uint64) { all = all && sound(leaf, words) }) && all
}

// laidOut reports whether each part has its words in a state. What a part that may grow has beyond those
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
