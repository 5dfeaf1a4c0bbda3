package casstore

import (
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"math"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir"
)

// A policy is a [weir.Policy] that a store knows, with its name. It is immutable.
type policy struct {
	weir.Rule
	name    string // by which values know it
	partial bool   // other policies may have the same name
}

// policies are the policies that a store knows: those of limiters by *weir.Plan, and all of them by
// name.
type policies struct {
	known sync.Map // → *policy
	n     atomic.Int64
}

// maxPolicies bounds the number of known policies, for programs that make new limiters all the
// time.
const maxPolicies = 100_000

func (ps *policies) keep(by any, p *policy) {
	if ps.n.Add(1) > maxPolicies {
		ps.known.Clear()
		ps.n.Store(1)
	}
	ps.known.Store(by, p)
}

// get returns nil if there is none.
func (ps *policies) get(by any) *policy {
	found, _ := ps.known.Load(by)
	p, _ := found.(*policy)
	return p
}

// of returns the policy of a limiter.
func (ps *policies) of(plan *weir.Plan) *policy {
	p := ps.get(plan)
	if p == nil {
		p = ps.add(plan.Policy, plan.Decider)
		ps.keep(plan, p)
	}
	return p
}

// add makes a policy known. Policies of the same text are the same. A policy without a text always
// decides by its own Decider, because its name does not describe everything in it, such as
// functions.
func (ps *policies) add(p weir.Policy, d weir.Decider) *policy {
	own := &policy{Rule: weir.Rule{Policy: p, Decider: d}}
	if text, ok := textOf(p); ok {
		if known := ps.get(text); known != nil {
			return known
		}
		own.name = text
	} else {
		text, own.partial = fingerprintOf(p)
		sum := sha256.Sum256([]byte(text))
		own.name = foreign + base64.RawURLEncoding.EncodeToString(sum[:hashSize])
	}
	// Of a partial policy in a value, only the used share is known. Of a composed one, the words of
	// each part stand in the value. To read them, one of the same name is better than none.
	if !own.partial || len(weir.Components(p)) > 0 {
		ps.keep(own.name, own)
	}
	return own
}

// A name is the text of a policy, or foreign and a hash. No text begins with foreign.
const (
	foreign  = "#"
	hashSize = 16
)

// by returns the policy of a name in a value. It returns nil if the policy is not known here: it is
// of another package, of a later release, or in a time zone that is not known here.
func (ps *policies) by(name string) *policy {
	if known := ps.get(name); known != nil {
		return known
	}
	p, err := weir.ParsePolicy(name)
	if err != nil {
		return nil
	}
	d, err := p.Decider()
	if err != nil {
		return nil
	}
	return ps.add(p, d)
}

// textOf returns the text from which any reader knows the policy. A policy that embeds one of
// package weir has that policy's text, but is another policy.
func textOf(p weir.Policy) (string, bool) {
	m, ok := p.(encoding.TextMarshaler)
	if !ok {
		return "", false
	}
	text, err := m.MarshalText()
	if err != nil {
		return "", false
	}
	again, err := weir.ParsePolicy(string(text))
	return string(text), err == nil && reflect.DeepEqual(again, p)
}

// An unknown is the Decider of a policy that this process can't know. It reports the used share,
// and until when it counts.
type unknown struct {
	weir.Result
	until int64
}

func newUnknown(limit, remaining uint64, until int64) *unknown {
	for limit > math.MaxInt { // of two tiers together, or of a process whose int has more bits
		limit, remaining = limit/2, remaining/2
	}
	u := &unknown{until: until}
	u.Limit = int(limit)
	u.Remaining = int(min(remaining, limit))
	return u
}

func (u *unknown) Words() int { return 0 }

func (u *unknown) Decide(state []uint64, _ int64, _ weir.Ask) ([]uint64, weir.Answer) {
	return state, weir.Answer{Result: u.Result}
}

func (u *unknown) Expiry([]uint64) int64 { return u.until }
