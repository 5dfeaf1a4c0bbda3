package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// Config is the part of a store that an engine needs.
type Config struct {
	Keys   Keys
	Send   func(context.Context, Call) (Reply, error)
	Budget time.Duration // how long a decision may take

	// For tests: a clock in nanoseconds, and by how much a state may be ahead of it.
	Clock func() int64
	Skew  time.Duration
}

// An Engine decides on requests. It is safe for concurrent use.
type Engine struct {
	Config
	scripts *scripts
	skew    int64 // see the constant skew

	cas *casstore.Store // for decisions that no script makes

	plans   sync.Map // → *plan, by *weir.Plan and by head
	planned atomic.Int64

	bufs sync.Pool // *stateBuf values to use again
}

// A stateBuf has room for the states of most policies, so that they are not allocated.
type stateBuf [8]uint64

// NewEngine returns an Engine.
func NewEngine(c Config) *Engine {
	e := &Engine{Config: c, scripts: real, skew: skew}
	if c.Clock != nil {
		e.scripts, e.skew = driven, int64(c.Skew/time.Microsecond)
	}
	e.bufs.New = func() any { return new(stateBuf) }
	e.cas = casstore.New(register{Engine: e}, casstore.Options{Key: e.Keys.Key})
	return e
}

// Do implements Do of a [weir.Store].
func (e *Engine) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	deadline := time.Now().Add(e.Budget)
	key := e.Keys.Key(r.Name, r.Key)
	if r.Forget {
		return weir.Answer{}, register{Engine: e}.Delete(ctx, key)
	}
	p := e.planOf(r.Plan)
	if p == nil {
		return e.decideHere(ctx, key, r, nil, deadline)
	}
	c := Call{Script: e.scripts.of[p.head[0]], Key: key, Args: [4]any{p.headArg, p.one}}
	if r.N == 1 && r.MaxWait == 0 && r.Mode == weir.AllOrNone {
		c.one = p
	} else {
		args, ok := p.codec.ask(r.Ask)
		if !ok {
			return e.decideHere(ctx, key, r, nil, deadline)
		}
		c.Args[1] = args
	}
	reply, err := e.run(ctx, c)
	if err != nil {
		return weir.Answer{}, err
	}
	if reply.what == other {
		return e.decideHere(ctx, key, r, &reply, deadline)
	}
	buf := e.bufs.Get().(*stateBuf)
	defer e.bufs.Put(buf)
	a, agreed, err := p.answer(buf[:0], reply, r.Ask)
	switch {
	case err != nil || agreed:
		return a, err
	case reply.what == done:
		return weir.Answer{}, fmt.Errorf("%w: the script granted %+v, and the policy %+v would not", weir.ErrRequest, r.Ask, r.Policy)
	}
	return e.decideHere(ctx, key, r, nil, deadline) // the debt would not be exact in the script
}

// decideHere decides in this process. found is what the caller has read already, or nil.
func (e *Engine) decideHere(ctx context.Context, key string, r weir.Request, found *reply, deadline time.Time) (weir.Answer, error) {
	if found == nil {
		return e.cas.DoFrom(ctx, r, nil, time.Until(deadline))
	}
	entry, err := register{e, deadline}.entry(ctx, key, *found)
	if err != nil {
		return weir.Answer{}, err
	}
	return e.cas.DoFrom(ctx, r, &entry, time.Until(deadline))
}

var errValue = fmt.Errorf("%w: the value of the key is not one of a limiter", weir.ErrRequest)

// answer returns the answer that follows from a reply, by a decision on the state in the reply. It
// reports whether the script agrees. The state is appended to buf, which is empty.
func (p *plan) answer(buf []uint64, r reply, asked weir.Ask) (a weir.Answer, agreed bool, err error) {
	var state []uint64
	now, ask, ok := r.now, asked, false
	switch c := p.codec.(type) {
	case log:
		state, ask, ok = c.seen(buf, r.rest, ask)
	default:
		state, _, ok = c.decode(buf, r.rest)
	}
	switch {
	case r.rest.s == "":
		return a, false, errReply
	case !ok || weir.CheckState(p.decider, state) != nil:
		return a, false, errValue
	}
	if r.before > 0 {
		state, a = p.decider.Decide(state, now*micro, p.times(r.before))
		agreed = a.Allowed == (r.what == done)
	}
	_, a = p.decider.Decide(state, now*micro, ask)
	if r.before == 0 {
		agreed = asked.N <= 0 || a.Allowed == (r.what == done)
	}
	a.At, a.ServerTime = r.now*micro, true
	return a, agreed, nil
}

// A reply is the result of a script: its decision, the instant, and more. It includes how many asks
// for one event the script decided on before this one.
type reply struct {
	what   byte
	now    int64
	rest   reader
	before int
}

var errReply = errors.New("the reply to a script is not one that it gives")

// OfReply returns the error for an error reply to a script. It wraps [weir.ErrRequest] if the reply
// is caused by a value that no limiter wrote. Such a value is a list, for example, or is too short
// for struct.unpack, or has impossible numbers. Errors in a script name the script. Others, such as
// that of a SELECT when the client connects, say nothing about the key.
func OfReply(err error) error {
	text := err.Error()
	if strings.Contains(text, "user_script") && slices.ContainsFunc([]string{
		"WRONGTYPE", "data string too short", "bad argument", "attempt to", "invalid expire time",
		"not an integer", "out of range", "exceeds maximum",
	}, func(part string) bool { return strings.Contains(text, part) }) {
		return fmt.Errorf("%w: %w", errValue, err)
	}
	return err
}

// errLong is the error of a server whose C type long has 32 bits, as in builds for 32-bit
// processors and old builds for Windows. Its Lua truncates all larger numbers, including instants.
// No state would be preserved. The instant in the reply shows this: it is below 2^32 on such
// servers only.
var errLong = errors.New("a 64-bit Redis is needed: the scripts of this one cut off numbers at 32 bits")

func (e *Engine) run(ctx context.Context, c Call) (reply, error) {
	if e.Clock != nil {
		c.Args[slices.Index(c.Args[:], nil)] = numbers(e.Clock()/micro, e.skew)
	}
	got, err := e.Send(ctx, c)
	if err != nil {
		return reply{}, err
	}
	r := read(got.Text)
	out := reply{what: byte(r.uint(1)), now: int64(r.uint(7)), before: got.Before}
	switch out.rest = r; {
	case !r.ok || out.what > other:
		return reply{}, errReply
	case e.Clock == nil && out.now < 1<<32:
		return reply{}, errLong
	}
	return out, nil
}
