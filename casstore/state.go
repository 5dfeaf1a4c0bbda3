package casstore

import "github.com/weir-go/weir"

// EncodeState returns the value of a key whose state is words, written by the policy p alone. It is
// for a Register that also has values in another form, such as values that code in the server
// writes. Get then returns the result of EncodeState. An error wraps [weir.ErrRequest] if the
// policy never writes that state.
func (s *Store) EncodeState(p weir.Policy, words []uint64) ([]byte, error) {
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
// false if several policies have counted in it, or a policy that this process does not know. The
// words of a value that comes from the server are not checked: see [weir.CheckState].
func (s *Store) DecodeState(value []byte) (p weir.Policy, words []uint64, ok bool) {
	h, err := s.policies.load(value, nil)
	if err != nil || !h.ledger.Plain || h.by[0].Policy == nil {
		return nil, nil, false
	}
	return h.by[0].Policy, h.ledger.Words, true
}
