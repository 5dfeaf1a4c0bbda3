package casstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// A value is:
//
//	format
//	number of policies × 2, + 1 if the words are the plain state of one policy
//	for each policy:
//	    length of its name
//	    its name
//	    its limit, how many of it are left, and until when the others count
//	number of words
//	words, of 8 bytes each, the highest first
//
// All numbers but the format and the words are uvarints. The limit, what is left of it, and the end
// are for processes that can't know the policy from its name. The end is in seconds since the Unix
// epoch, rounded up.
const format = 1

const second = int64(time.Second)

// A held is the content of a value.
type held struct {
	ledger weir.Ledger
	by     []*policy // the policies of the ledger; a rule's tag is the index here plus one
}

// rule returns the rule by which p decides on the held state.
func (h *held) rule(p *policy) weir.Rule {
	i := slices.IndexFunc(h.by, func(q *policy) bool {
		return p == q || p.partial && q.partial && p.name == q.name
	})
	if i < 0 {
		i = len(h.by)
		h.by = append(h.by, p)
	}
	return weir.Rule{Policy: p.Policy, Decider: p.Decider, Tag: uint64(i + 1)}
}

// encode returns the value for what is held at the instant now.
func (h *held) encode(now int64) []byte {
	l := h.ledger
	b := append(make([]byte, 0, 64+8*len(l.Words)), format)
	n := uint64(len(l.By)) << 1
	if l.Plain {
		n |= 1
	}
	b = binary.AppendUvarint(b, n)
	expiry := l.Expiry()
	for _, rule := range l.By {
		p := h.by[rule.Tag-1]
		u, ok := p.Decider.(*unknown)
		if !ok {
			used, limit := l.Usage(rule, now)
			u = newUnknown(limit, limit-min(used, limit), expiry)
		}
		b = binary.AppendUvarint(b, uint64(len(p.name)))
		b = append(b, p.name...)
		until := uint64(max(u.until, 0))
		for _, n := range []uint64{uint64(u.Limit), uint64(u.Remaining), (until + uint64(second) - 1) / uint64(second)} {
			b = binary.AppendUvarint(b, n)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(l.Words)))
	for _, w := range l.Words {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

var errValue = fmt.Errorf("%w: the value of the key is not one of a limiter", weir.ErrRequest)

// maxHeld bounds the policies of a value, each of which takes time to parse. A ledger has fewer.
const maxHeld = 8

// load parses a value, which may have any content. Its words are checked when they are decided on.
// own are the policies of requests. They go before others with the same name.
func (ps *policies) load(value []byte, own []*policy) (h held, err error) {
	if len(value) == 0 {
		return h, nil
	}
	r := reader{value[1:], value[0] == format}
	n := r.uvarint()
	h.ledger.Plain, n = n&1 != 0, n>>1
	if h.ledger.Plain && n != 1 || n > maxHeld {
		return held{}, errValue
	}
	for ; n > 0; n-- {
		p := r.policy(ps, own)
		if !r.ok {
			return held{}, errValue
		}
		h.ledger.By = append(h.ledger.By, h.rule(p))
	}
	h.ledger.Words = r.words()
	if !r.ok || len(h.ledger.By) == 0 && len(h.ledger.Words) > 0 {
		return held{}, errValue
	}
	return h, nil
}

// A reader parses a value. ok is false after too little was left, or a number was not allowed.
type reader struct {
	b  []byte
	ok bool
}

// take returns the next bytes, as many as asked for.
func (r *reader) take(n uint64) []byte {
	if !r.ok || n > uint64(len(r.b)) {
		r.ok = false
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		size = len(r.b) + 1 // more than there is
	}
	if r.take(uint64(size)); !r.ok {
		return 0
	}
	return n
}

// policy reads a policy.
func (r *reader) policy(ps *policies, own []*policy) *policy {
	name := string(r.take(r.uvarint()))
	limit, remaining, seconds := r.uvarint(), r.uvarint(), r.uvarint()
	if !r.ok || name == "" {
		r.ok = false
		return nil
	}
	until := int64(math.MaxInt64) // never, or later than an int64 holds
	if seconds <= math.MaxInt64/uint64(second) {
		until = int64(seconds) * second
	}
	if i := slices.IndexFunc(own, func(p *policy) bool { return p.name == name }); i >= 0 {
		return own[i]
	}
	if p := ps.by(name); p != nil {
		return p
	}
	return &policy{Rule: weir.Rule{Decider: newUnknown(limit, remaining, until)}, name: name}
}

// words reads the words, which come last.
func (r *reader) words() []uint64 {
	n := r.uvarint()
	if !r.ok || len(r.b)%8 != 0 || uint64(len(r.b)/8) != n {
		r.ok = false
		return nil
	}
	words := make([]uint64, n)
	for i := range words {
		words[i] = binary.BigEndian.Uint64(r.b[8*i:])
	}
	return words
}
