package script

import (
	"cmp"
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"github.com/weir-go/weir"
)

// A plan is an engine's data about a policy. It is immutable.
type plan struct {
	policy  weir.Policy // nil if it is not known
	decider weir.Decider
	codec   codec  // nil if there is no script for it
	head    string // identifies the policy in values

	headArg any // head, as an argument
	one     any // the arguments for one event
}

// The first byte of a head, and of a value, is the kind of a policy. A hash follows the first kind,
// a text the kind for texts, and three numbers the others.
//
// A value that a script writes is a head, followed by the data of the codec. Other values begin
// with one of the last two kinds, see held.
const (
	kindForeign = iota
	kindTokenBucket
	kindLeakyBucket
	kindFixedWindow
	kindFromFirst
	kindSlidingWindow
	kindSlidingLog
	kindText
	kindWords  // the state of a policy, as its decider keeps it
	kindLedger // of several policies

	strange = 0x80 // set in the kind of a policy that the writer of the value did not know
)

// hashSize is the length of the hash of a policy that is not of package weir.
const hashSize = 16

func newPlan(p weir.Policy, d weir.Decider, head string) *plan {
	pl := &plan{policy: p, decider: d, codec: newCodec(p, d), head: head, headArg: head}
	if pl.codec != nil {
		pl.one, _ = pl.codec.ask(weir.Ask{N: 1})
	}
	return pl
}

// policyHead returns a text that identifies a policy: its kind and parameters, its text, or a hash
// for a policy that is not of package weir. The hash is partial if other policies may have it, too.
// No head is the beginning of another.
func policyHead(p weir.Policy) (head string, partial bool) {
	h := func(kind byte, limit int, per time.Duration, third int) (string, bool) {
		b := binary.AppendUvarint([]byte{kind}, uint64(limit))
		return string(binary.AppendUvarint(binary.AppendUvarint(b, uint64(per)), uint64(third))), false
	}
	switch p := p.(type) {
	case weir.TokenBucket:
		return h(kindTokenBucket, p.Limit, p.Per, cmp.Or(p.Burst, p.Limit))
	case weir.LeakyBucket:
		return h(kindLeakyBucket, p.Limit, p.Per, cmp.Or(p.Capacity, p.Limit))
	case weir.FixedWindow:
		if p.FromFirst {
			return h(kindFromFirst, p.Limit, p.Per, 0)
		}
		return h(kindFixedWindow, p.Limit, p.Per, 0)
	case weir.SlidingWindow:
		return h(kindSlidingWindow, p.Limit, p.Per, max(p.Buckets, 1))
	case weir.SlidingLog:
		return h(kindSlidingLog, p.Limit, p.Per, 0)
	}
	if text, ok := textOf(p); ok {
		return string(append(binary.AppendUvarint([]byte{kindText}, uint64(len(text))), text...)), false
	}
	text, partial := fingerprintOf(p)
	sum := sha256.Sum256([]byte(text))
	return string(append([]byte{kindForeign}, sum[:hashSize]...)), partial
}

// textOf returns the text from which any reader knows the policy. A policy that embeds one of
// package weir has that policy's text, but is another policy.
func textOf(p weir.Policy) ([]byte, bool) {
	m, ok := p.(encoding.TextMarshaler)
	if !ok {
		return nil, false
	}
	text, err := m.MarshalText()
	if err != nil {
		return nil, false
	}
	again, err := weir.ParsePolicy(string(text))
	return text, err == nil && reflect.DeepEqual(again, p)
}

// head reads a head, and reports whether the writer of the value did not know the policy.
func (r *reader) head() (head string, isStrange bool) {
	all := r.s
	kind := byte(r.uint(1))
	switch kind &^ strange {
	case kindForeign:
		r.take(hashSize)
	case kindText:
		r.take(r.varint())
	default:
		for range 3 {
			r.varint()
		}
	}
	if !r.ok {
		return "", false
	}
	head = all[:len(all)-len(r.s)]
	if kind&strange != 0 {
		return string([]byte{kind &^ strange}) + head[1:], true
	}
	return head, false
}

// hasUsed reports whether values contain the share that a policy has used, for processes that can't
// know the policy from its head.
func hasUsed(head string) bool { return head[0] == kindForeign || head[0] == kindText }

// policyOf returns the policy of a head. It is nil if this process can't know the policy: it is of
// another package, of a later release, or in a time zone that is not known here.
func policyOf(head string) (weir.Policy, error) {
	r := read(head)
	kind := r.uint(1)
	switch kind {
	case kindForeign:
		return nil, nil
	case kindText:
		r.varint()
		if p, err := weir.ParsePolicy(r.s); err == nil {
			return p, nil
		}
		return nil, nil
	}
	limit, per, third := int(r.varint()), time.Duration(r.varint()), int(r.varint())
	switch kind {
	case kindTokenBucket:
		return weir.TokenBucket{Limit: limit, Per: per, Burst: third}, nil
	case kindLeakyBucket:
		return weir.LeakyBucket{Limit: limit, Per: per, Capacity: third}, nil
	case kindFixedWindow, kindFromFirst:
		return weir.FixedWindow{Limit: limit, Per: per, FromFirst: kind == kindFromFirst}, nil
	case kindSlidingWindow:
		return weir.SlidingWindow{Limit: limit, Per: per, Buckets: third}, nil
	case kindSlidingLog:
		return weir.SlidingLog{Limit: limit, Per: per}, nil
	}
	return nil, fmt.Errorf("%w: it begins with a policy of the kind %d", errValue, kind)
}
