package casstore

import (
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/weir-go/weir"
)

// EncodeState returns the value that s keeps for a key if p is the only policy that has counted its
// events, and words are the state of p. It is for a Register that also has values in another form,
// such as values that code in the server writes. In place of such a value, the Get of the Register
// returns the result of EncodeState. EncodeState returns an error if p is nil or invalid. If p
// never has that state, the error of [weir.CheckState] is returned, which wraps [weir.ErrRequest].
func (s *Store) EncodeState(p weir.Policy, words []uint64) ([]byte, error) {
	if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("weir: EncodeState with a nil Policy (%T), must be one", p)
	}
	d, err := p.Decider()
	if err != nil {
		return nil, err
	}
	if err := weir.CheckState(d, words); err != nil {
		return nil, err
	}
	var h held
	h.ledger = weir.Ledger{By: []weir.Rule{h.rule(s.policies.add(p, d))}, Plain: true, Words: words}
	return h.encode(0), nil
}

// DecodeState returns the policy and the state of a value. It is the reverse of EncodeState. ok is
// false if several policies, or a policy that this process does not know, have counted in the
// value, or if no store writes values of that form. DecodeState does not check the words. If the
// value comes from the server, call [weir.CheckState].
func (s *Store) DecodeState(value []byte) (p weir.Policy, words []uint64, ok bool) {
	h, err := s.policies.load(value, nil)
	if err != nil || !h.ledger.Plain || h.by[0].Policy == nil {
		return nil, nil, false
	}
	return h.by[0].Policy, h.ledger.Words, true
}

// Expiry returns the instant at which the key of a value has fully recovered, see
// [weir.Ledger.Expiry]. It is for a Register that writes a value again outside of Swap, and has to
// know how long to keep it. An error means that no store writes that value, or that a policy in it
// panicked. The error wraps [weir.ErrRequest].
func (s *Store) Expiry(value []byte) (at int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			at, err = 0, fmt.Errorf("%w: %v\n%s", errPolicy, p, debug.Stack())
		}
	}()
	h, err := s.policies.load(value, nil)
	if err != nil || len(h.ledger.By) == 0 {
		return 0, err
	}
	if _, _, _, err := h.ledger.Decide(h.ledger.By[0], 0, weir.Ask{}); err != nil { // a look checks the words
		return 0, fmt.Errorf("%w: %w", errValue, err)
	}
	return h.ledger.Expiry(), nil
}
