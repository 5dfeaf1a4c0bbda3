package script

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir"
)

// plans are those of the policies that were seen: of limiters, by their *weir.Scope, and of limiters and
// values, by what values in words begin with.
type plans struct {
	sync.Map // → *plan
	n        atomic.Int64
}

// maxPlans bounds how many are remembered, for programs that make ever new limiters.
const maxPlans = 100_000

func (e *Engine) remember(by any, p *plan) {
	ps := e.plans.Load()
	if ps.n.Add(1) > maxPlans {
		ps = new(plans)
		e.plans.Store(ps)
	}
	ps.Store(by, p)
}

func (e *Engine) remembered(by any) (*plan, bool) {
	p, ok := e.plans.Load().Load(by)
	if !ok {
		return nil, false
	}
	return p.(*plan), true
}

func (e *Engine) planOf(s *weir.Scope) *plan {
	if p, ok := e.remembered(s); ok {
		return p
	}
	p := e.plan(s.Policy, s.Decider)
	e.remember(s, p)
	return p
}

// plan is the one for a policy, the same for all of package weir that are equal. One of another package is
// decided on by its own decider: of functions that it holds, say, the head tells nothing.
func (e *Engine) plan(p weir.Policy, d weir.Decider) *plan {
	head, partial := policyHead(p)
	if pl, ok := e.remembered(wordsHead(head)); ok && head[0] != kindForeign {
		return pl
	}
	pl := newPlan(p, d, head)
	if !partial {
		e.remember(pl.words, pl)
	}
	return pl
}

// planBy is the plan of the policy whose head a value has, or nil if it is not known.
func (e *Engine) planBy(head string) (*plan, error) {
	if pl, ok := e.remembered(wordsHead(head)); ok {
		return pl, nil
	}
	p, err := policyOf(head)
	if p == nil || err != nil {
		return nil, err
	}
	d, err := p.Decider()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errValue, err)
	}
	return e.plan(p, d), nil
}
