package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// A Call is a command for one key: a script, or, without one, DEL. The client sends it once, and not
// again if it may have been executed. EVALSHA is tried first, and EVAL if the server does not know
// the script.
type Call struct {
	Script *Script
	Key    string
	Args   [4]any // strings; those from the first nil on are none
}

// Config is what an engine needs of a store.
type Config struct {
	Keys   Keys
	Send   func(context.Context, Call) (string, error)
	Budget time.Duration // how long a decision may take that needs several calls

	// Clock is for tests, which decide by their own time: the last argument of scripts. See Driven.
	Clock func() any
}

// Driven is what a Clock returns at an instant of now nanoseconds, where states may be ahead of that
// by skew.
func Driven(now int64, skew time.Duration) any {
	return numbers(now/micro, int64(skew/time.Microsecond))
}

// An Engine decides on requests. It is safe for concurrent use.
type Engine struct {
	Config
	scripts *scripts

	plans atomic.Pointer[plans]
	bufs  sync.Pool          // of *stateBuf
	lines [256]chan struct{} // see decideHere
}

// A stateBuf has room for the states of most policies, so that they need not be allocated.
type stateBuf [8]uint64

// NewEngine returns an Engine.
func NewEngine(c Config) *Engine {
	e := &Engine{Config: c, scripts: real}
	if c.Clock != nil {
		e.scripts = driven
	}
	e.plans.Store(new(plans))
	e.bufs.New = func() any { return new(stateBuf) }
	for i := range e.lines {
		e.lines[i] = make(chan struct{}, 1)
	}
	return e
}

// Do is the Do of a [weir.Store].
func (e *Engine) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	key := e.Keys.Key(r.Name, r.Key)
	if r.Forget {
		_, err := e.Send(ctx, Call{Key: key})
		return weir.Answer{}, err
	}
	p := e.planOf(r.Scope)
	if p.codec == nil {
		return e.decideHere(ctx, p, key, r, nil)
	}
	args, ok := p.one, true // made into an any once
	if r.N != 1 || r.MaxWait != 0 || r.How != weir.AllOrNone {
		args, ok = p.codec.ask(r.Ask)
	}
	if !ok {
		return e.decideHere(ctx, p, key, r, nil)
	}
	reply, err := e.run(ctx, p.codec.script(e.scripts), key, p.headArg, args)
	if err != nil {
		return weir.Answer{}, err
	}
	if reply.what == other {
		return e.decideHere(ctx, p, key, r, &reply)
	}
	buf := e.bufs.Get().(*stateBuf)
	defer e.bufs.Put(buf)
	state, now, ask, ok := p.codec.seen(buf[:0], reply.rest, reply.now, r.Ask)
	if !ok {
		return weir.Answer{}, errReply
	}
	_, a := p.decider.Decide(state, now*micro, ask)
	a.At = reply.now * micro
	if r.N > 0 && a.Allowed != (reply.what == done) {
		if reply.what == done {
			return weir.Answer{}, fmt.Errorf("%w: the script granted %+v, and the policy %+v would not", weir.ErrRequest, r.Ask, r.Policy)
		}
		return e.decideHere(ctx, p, key, r, nil) // what is owed would not be exact in the script
	}
	return a, nil
}

// A reply is what a script returned: what it did, when, and more.
type reply struct {
	what byte
	now  int64
	rest reader
}

var errReply = errors.New("the reply to a script is not one that it gives")

func (e *Engine) run(ctx context.Context, s *Script, key string, args ...any) (reply, error) {
	c := Call{Script: s, Key: key}
	n := copy(c.Args[:], args)
	if e.Clock != nil {
		c.Args[n] = e.Clock()
	}
	text, err := e.Send(ctx, c)
	switch {
	case err != nil && strings.Contains(err.Error(), "WRONGTYPE"):
		return reply{}, fmt.Errorf("%w: %w", errValue, err)
	case err != nil:
		return reply{}, err
	}
	r := read(text)
	out := reply{what: byte(r.uint(1)), now: int64(r.uint(7))}
	if out.rest = r; !r.ok || out.what > other {
		return reply{}, errReply
	}
	return out, nil
}

// plans are those of the policies that were seen.
type plans struct {
	byScope sync.Map // *weir.Scope → *plan
	byWords sync.Map // what values in words begin with → *plan
	n       atomic.Int64
}

// maxPlans bounds how many are remembered, for programs that make ever new limiters.
const maxPlans = 100_000

func (e *Engine) planOf(s *weir.Scope) *plan {
	ps := e.plans.Load()
	if p, ok := ps.byScope.Load(s); ok {
		return p.(*plan)
	}
	p := e.plan(s.Policy, s.Decider)
	if ps.n.Add(1) > maxPlans {
		ps = new(plans)
		e.plans.Store(ps)
	}
	ps.byScope.Store(s, p)
	ps.byWords.Store(p.words, p)
	return p
}

// plan is the one for a policy, the same for all that are equal.
func (e *Engine) plan(p weir.Policy, d weir.Decider) *plan {
	head, known := policyHead(p)
	if pl, ok := e.knownBy(wordsHead(head)); ok {
		return pl
	}
	return newPlan(p, d, head, known)
}

func (e *Engine) knownBy(words string) (*plan, bool) {
	p, ok := e.plans.Load().byWords.Load(words)
	if !ok {
		return nil, false
	}
	return p.(*plan), true
}
