package script

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// A plan is what an engine knows of a policy. It is immutable.
type plan struct {
	decider weir.Decider
	codec   codec  // nil if there is no script for it
	head    string // what values begin with that the script writes
	words   string // what values begin with that hold the decider's words
	foreign bool   // the policy can't be known from words

	headArg any // head, as an argument
	one     any // the arguments for one event
}

// Kinds of policies, the first byte of a value. A value in words has another bit in it.
const (
	kindForeign = iota
	kindTokenBucket
	kindLeakyBucket
	kindFixedWindow
	kindFromFirst
	kindSlidingWindow
	kindSlidingLog

	inWords = 0x80
)

// foreignSize is how long the head is of a policy that is not of package weir.
const foreignSize = 17

func newPlan(p weir.Policy, d weir.Decider, head string, known bool) *plan {
	pl := &plan{decider: d, head: head, words: wordsHead(head), foreign: !known, headArg: head}
	if known {
		pl.codec = newCodec(p, d)
	}
	if pl.codec != nil {
		pl.one, _ = pl.codec.ask(weir.Ask{N: 1})
	}
	return pl
}

// wordsHead is the head for a state in words of the same policy.
func wordsHead(head string) string { return string([]byte{head[0] | inWords}) + head[1:] }

// policyHead tells policies apart: by kind and parameters, or, of those that are not of package weir,
// by a hash. No head is the beginning of another one.
func policyHead(p weir.Policy) (head string, known bool) {
	h := func(kind byte, limit int, per time.Duration, third int) string {
		b := binary.AppendUvarint([]byte{kind}, uint64(limit))
		return string(binary.AppendUvarint(binary.AppendUvarint(b, uint64(per)), uint64(third)))
	}
	switch p := p.(type) {
	case weir.TokenBucket:
		return h(kindTokenBucket, p.Limit, p.Per, orLimit(p.Burst, p.Limit)), true
	case weir.LeakyBucket:
		return h(kindLeakyBucket, p.Limit, p.Per, orLimit(p.Capacity, p.Limit)), true
	case weir.FixedWindow:
		if p.FromFirst {
			return h(kindFromFirst, p.Limit, p.Per, 0), true
		}
		return h(kindFixedWindow, p.Limit, p.Per, 0), true
	case weir.SlidingWindow:
		return h(kindSlidingWindow, p.Limit, p.Per, max(p.Buckets, 1)), true
	case weir.SlidingLog:
		return h(kindSlidingLog, p.Limit, p.Per, 0), true
	}
	sum := sha256.Sum256([]byte(fingerprint(p)))
	return string(append([]byte{kindForeign}, sum[:foreignSize-1]...)), false
}

// readHead takes the policy that wrote a value from its beginning. The policy is nil if it is not one
// of package weir.
func readHead(r *reader) (p weir.Policy, isWords bool, err error) {
	kind := byte(r.uint(1))
	isWords = kind&inWords != 0
	if kind &^= inWords; kind == kindForeign {
		return nil, isWords, nil
	}
	limit, per, third := int(r.varint()), time.Duration(r.varint()), int(r.varint())
	switch kind {
	case kindTokenBucket:
		p = weir.TokenBucket{Limit: limit, Per: per, Burst: third}
	case kindLeakyBucket:
		p = weir.LeakyBucket{Limit: limit, Per: per, Capacity: third}
	case kindFixedWindow, kindFromFirst:
		p = weir.FixedWindow{Limit: limit, Per: per, FromFirst: kind == kindFromFirst}
	case kindSlidingWindow:
		p = weir.SlidingWindow{Limit: limit, Per: per, Buckets: third}
	case kindSlidingLog:
		p = weir.SlidingLog{Limit: limit, Per: per}
	default:
		return nil, false, fmt.Errorf("a policy of the kind %d", kind)
	}
	if !r.ok {
		return nil, false, fmt.Errorf("%d bytes, which are too few", len(r.s))
	}
	return p, isWords, nil
}
