package script

import (
	"fmt"

	"github.com/weir-go/weir"
)

// maxPlans bounds the number of remembered plans, for programs that make new limiters all the time.
const maxPlans = 100_000

func (e *Engine) remember(by any, p *plan) {
	if e.planned.Add(1) > maxPlans {
		e.plans.Clear()
		e.planned.Store(1)
	}
	e.plans.Store(by, p)
}

// remembered returns nil if there is none.
func (e *Engine) remembered(by any) *plan {
	found, _ := e.plans.Load(by)
	p, _ := found.(*plan)
	return p
}

func (e *Engine) planOf(s *weir.Plan) *plan {
	p := e.remembered(s)
	if p == nil {
		p = e.plan(s.Policy, s.Decider)
		e.remember(s, p)
	}
	return p
}

// plan returns the plan of a policy. Equal policies of package weir have the same plan. A policy of
// another package is decided on by its own decider, because its head does not describe the
// functions in it, for example.
func (e *Engine) plan(p weir.Policy, d weir.Decider) *plan {
	head, partial := policyHead(p)
	if pl := e.remembered(head); pl != nil && head[0] != kindForeign {
		return pl
	}
	pl := newPlan(p, d, head)
	if !partial {
		e.remember(head, pl)
	}
	return pl
}

// planBy returns the plan of the policy whose head a value has, or nil if it is not known.
func (e *Engine) planBy(head string) (*plan, error) {
	if pl := e.remembered(head); pl != nil {
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
