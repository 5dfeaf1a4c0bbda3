package script

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"github.com/weir-go/weir"
)

// A held is a state as it is kept in words.
type held struct {
	state  []uint64
	latest int64 // when it was left, by its own clock, in microseconds
	ahead  int64 // by how much that clock is ahead of the server's
}

// value is how a state is kept: as the script does if that can go on from it, or in words.
func (p *plan) value(h held, a weir.Answer) string {
	if p.codec != nil && h.ahead == 0 {
		if v, ok := p.codec.encode(h.state, h.latest); ok {
			return p.head + string(v)
		}
	}
	b := appendUint(appendUint([]byte(p.words), uint64(h.latest), 7), uint64(h.ahead), 7)
	if p.hasUsed {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(a.Limit)), uint64(a.Remaining))
	}
	b = binary.AppendUvarint(b, uint64(len(h.state)))
	for _, w := range h.state {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return string(b)
}

// load returns the state that a value holds, and the plan of the policy that left it; nil for one
// that is not known, in which case the state is Limit and Remaining.
func (e *Engine) load(p *plan, value string) (held, *plan, error) {
	if value == "" {
		return held{state: make([]uint64, p.decider.Words())}, p, nil
	}
	r := read(value)
	from, isWords := p, false
	switch {
	case p.codec != nil && strings.HasPrefix(value, p.head):
		r.s = value[len(p.head):]
	case strings.HasPrefix(value, p.words):
		r.s, isWords = value[len(p.words):], true
	default:
		var head string
		head, isWords = takeHead(&r)
		if !r.ok {
			return held{}, nil, errValue
		}
		var err error
		if from, err = e.planBy(head); err != nil {
			return held{}, nil, err
		}
	}
	if !isWords {
		if from == nil || from.codec == nil {
			return held{}, nil, errValue
		}
		state, latest, ok := from.codec.decode(r)
		if !ok {
			return held{}, nil, errValue
		}
		return held{state: state, latest: latest}, from, nil
	}
	h := held{latest: int64(r.uint(7)), ahead: int64(r.uint(7))}
	if from == nil || from.hasUsed {
		limit, remaining := r.varint(), r.varint()
		if from == nil {
			h.state = []uint64{limit, remaining}
		}
	}
	// A decider takes what it is given for a state that it has left, and may panic on another one.
	words := r.varint()
	switch {
	case !r.ok || len(r.s)%8 != 0 || uint64(len(r.s)/8) != words:
		return held{}, nil, errValue
	case from == nil:
		return h, nil, nil
	case from.head[0] != kindForeign && words < uint64(from.decider.Words()): // those of others may shrink so far
		return held{}, nil, errValue
	}
	for len(r.s) > 0 {
		h.state = append(h.state, r.uint(8))
	}
	return h, from, nil
}

var errValue = fmt.Errorf("%w: the value of the key is not one of a limiter", weir.ErrRequest)

// carryUsed is [weir.Carry] for a state of which only Limit and Remaining are known: the share that was
// used up then is used up, rounded up.
func (h held) carryUsed(to weir.Decider, now int64) []uint64 {
	fresh := make([]uint64, to.Words())
	limit, remaining := h.state[0], h.state[1]
	if remaining >= limit {
		return fresh
	}
	_, a := to.Decide(fresh, now, weir.Ask{})
	hi, lo := bits.Mul64(limit-remaining, uint64(a.Limit))
	share, rest := bits.Div64(hi, lo, limit)
	if rest > 0 {
		share++
	}
	fresh, _ = to.Decide(fresh, now, weir.Ask{N: int(share), How: weir.Regardless})
	return fresh
}
