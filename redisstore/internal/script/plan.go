package script

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"github.com/weir-go/weir"
)

// A plan is what an engine knows of a policy. It is immutable.
type plan struct {
	decider weir.Decider
	codec   codec  // nil if there is no script for it
	head    string // what values begin with that the script writes
	words   string // what values begin with that hold the decider's words
	hasUsed bool   // the latter tell what was used up, for those who can't know the policy from them

	headArg any // head, as an argument
	one     any // the arguments for one event
}

// Kinds of policies, the first byte of a value. A value in words has another bit in it. There is a hash
// after the first, a text after the last, and numbers after the others.
const (
	kindForeign = iota
	kindTokenBucket
	kindLeakyBucket
	kindFixedWindow
	kindFromFirst
	kindSlidingWindow
	kindSlidingLog
	kindText

	inWords = 0x80
)

// hashSize is how long the hash is of a policy that is not of package weir.
const hashSize = 16

func newPlan(p weir.Policy, d weir.Decider, head string) *plan {
	pl := &plan{decider: d, head: head, words: wordsHead(head), headArg: head}
	switch head[0] {
	case kindForeign, kindText:
		pl.hasUsed = true
	default:
		pl.codec = newCodec(p, d)
	}
	if pl.codec != nil {
		pl.one, _ = pl.codec.ask(weir.Ask{N: 1})
	}
	return pl
}

// wordsHead is the head for a state in words of the same policy.
func wordsHead(head string) string { return string([]byte{head[0] | inWords}) + head[1:] }

// policyHead tells policies apart: by kind and parameters, by their text, or, of those that are not of package
// weir, by a hash, which is partial if it may be that of others, too. No head is the beginning of another one.
func policyHead(p weir.Policy) (head string, partial bool) {
	h := func(kind byte, limit int, per time.Duration, third int) (string, bool) {
		b := binary.AppendUvarint([]byte{kind}, uint64(limit))
		return string(binary.AppendUvarint(binary.AppendUvarint(b, uint64(per)), uint64(third))), false
	}
	switch p := p.(type) {
	case weir.TokenBucket:
		return h(kindTokenBucket, p.Limit, p.Per, orLimit(p.Burst, p.Limit))
	case weir.LeakyBucket:
		return h(kindLeakyBucket, p.Limit, p.Per, orLimit(p.Capacity, p.Limit))
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

// textOf is the text by which whoever reads it knows the policy. A policy that embeds one of package weir
// has its text, and is another one all the same.
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

// takeHead takes the head from the beginning of a value.
func takeHead(r *reader) (head string, isWords bool) {
	value := r.s
	kind := byte(r.uint(1))
	isWords = kind&inWords != 0
	switch kind &^ inWords {
	case kindForeign:
		r.skip(hashSize)
	case kindText:
		r.skip(r.varint())
	default:
		for range 3 {
			r.varint()
		}
	}
	head = value[:len(value)-len(r.s)]
	if isWords {
		head = string([]byte{kind &^ inWords}) + head[1:]
	}
	return head, isWords
}

// policyOf is the policy of a head. It is nil if this process can't know it: one that is not of package weir,
// or of a later release, or in a time zone that is not known here.
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
