package script

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/weir-go/weir"
)

// A plan is an engine's data about a policy with a script. It is immutable.
type plan struct {
	policy  weir.Policy
	decider weir.Decider
	codec   codec
	head    string // identifies the policy in values

	headArg any // head, as an argument
	one     any // the arguments for one event
}

// The first byte of a value is its kind. A value that a script writes is a head, which is the kind
// of a policy and three numbers, followed by the data of the codec. Other values have the last
// kind, see register.
const (
	kindTokenBucket = 1 + iota
	kindLeakyBucket
	kindFixedWindow
	kindFromFirst
	kindSlidingWindow
	kindSlidingLog
	kindSwapped
)

// newPlan returns the plan of a policy, or nil if it has no script.
func newPlan(p weir.Policy, d weir.Decider) *plan {
	c := newCodec(p, d)
	if c == nil {
		return nil
	}
	head := headOf(p)
	one, _ := c.ask(weir.Ask{N: 1})
	return &plan{policy: p, decider: d, codec: c, head: head, headArg: head, one: one}
}

// headOf returns the head of a policy, or "" if there is no script for policies of its type. No
// head is the beginning of another.
func headOf(p weir.Policy) string {
	h := func(kind byte, limit int, per time.Duration, third int) string {
		b := binary.AppendUvarint([]byte{kind}, uint64(limit))
		return string(binary.AppendUvarint(binary.AppendUvarint(b, uint64(per)), uint64(third)))
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
	return ""
}

// readPlan reads a head, and returns the plan of its policy.
func (e *Engine) readPlan(r *reader) (*plan, error) {
	kind := r.uint(1)
	number := func() int { // int has 32 bits on some machines, and fewer events then fit in a policy
		n := r.varint()
		r.ok = r.ok && n <= math.MaxInt
		return int(n)
	}
	limit, per, third := number(), time.Duration(r.varint()), number()
	var p weir.Policy
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
	}
	if p == nil || !r.ok {
		return nil, errValue
	}
	pl, err := e.planBy(p)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errValue, err)
	case pl == nil:
		return nil, errValue
	}
	return pl, nil
}

// maxPlans bounds the number of remembered plans, for programs that make new limiters all the time.
const maxPlans = 100_000

// planOf returns the plan of a limiter's policy, or nil if it has no script.
func (e *Engine) planOf(s *weir.Plan) *plan {
	if found, ok := e.plans.Load(s); ok {
		return found.(*plan)
	}
	p := e.known(newPlan(s.Policy, s.Decider))
	e.remember(s, p)
	return p
}

// planBy returns the plan of a policy in a value, or nil if it has no script.
func (e *Engine) planBy(p weir.Policy) (*plan, error) {
	head := headOf(p)
	if found, ok := e.plans.Load(head); ok || head == "" {
		known, _ := found.(*plan)
		return known, nil
	}
	d, err := p.Decider()
	if err != nil {
		return nil, err
	}
	return e.known(newPlan(p, d)), nil
}

// known returns the plan that equal policies share. Their asks can then be merged.
func (e *Engine) known(p *plan) *plan {
	if p == nil {
		return nil
	}
	if found, ok := e.plans.Load(p.head); ok {
		return found.(*plan)
	}
	e.remember(p.head, p)
	return p
}

func (e *Engine) remember(by any, p *plan) {
	if e.planned.Add(1) > maxPlans {
		e.plans.Clear()
		e.planned.Store(1)
	}
	e.plans.Store(by, p)
}
