package oracle

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A composedTrial puts the same asks to a composition as a pure function, through stores, and to
// its model.
type composedTrial struct {
	trial   // what the checks need
	mem     weir.MemStore
	cas     kit.CASStore
	plan    *weir.Plan
	allowed *weir.KeyedLimiter // on mem
	exact   bool               // the parts keep R4 to R6, and the model is one of exact fractions
}

func newComposedTrial(t *testing.T, p weir.Policy, m model, exact bool) *composedTrial {
	d, err := p.Decider()
	require.NoError(t, err)
	x := &composedTrial{trial: trial{t: t, policy: p, model: m, decider: d, state: make([]uint64, d.Words())}, exact: exact}
	x.allowed, err = weir.New(p, weir.WithStore(&x.mem), weir.WithClock(&x.clock))
	require.NoError(t, err)
	probe := weir.Must(weir.New(p, weir.WithStore(&x.cas), weir.WithClock(&x.clock)))
	_, err = probe.Take(context.Background(), "probe", 0)
	require.NoError(t, err)
	x.plan = x.cas.Plan
	return x
}

// ask puts the ask to all at the instant at, if that is not before the last.
func (x *composedTrial) ask(at int64, ask weir.Ask) weir.Answer {
	if at >= lastSecond {
		at = math.MaxInt64
	}
	x.now = max(x.now, at)
	x.clock.Time = time.Unix(0, x.now)

	want, left, wantParts := x.askModel(ask)
	before, again := slices.Clone(x.state), anew(ask)
	got, parts := x.askState(again)
	require.Equal(x.t, ask.Charges, again.Charges, "what %+v charged when asked for %+v at %d", x.policy, ask, x.now)
	require.Equal(x.t, want, got, "%+v asked for %+v at %d", x.policy, ask, x.now)
	require.Equal(x.t, wantParts, parts, "the parts of %+v, asked for %+v at %d", x.policy, ask, x.now)
	if ask.N == 0 || !got.Allowed {
		require.Equal(x.t, before, x.state, "R2, R3: %+v changed by %+v at %d", x.policy, ask, x.now)
	} else {
		x.granted = x.now
	}
	x.model = left

	require.Equal(x.t, want, x.do(&x.cas, anew(ask)), "by compare and set: %+v asked for %+v at %d", x.policy, ask, x.now)
	if ask == (weir.Ask{N: 1}) && x.shortWay() {
		require.Equal(x.t, want.Allowed, x.allowed.Allow("key"), "Allow of %+v at %d", x.policy, x.now)
		look, _ := left.ask(x.now, weir.Ask{})
		require.Equal(x.t, look, x.do(&x.mem, weir.Ask{}), "%+v after Allow at %d", x.policy, x.now)
	} else {
		again := anew(ask)
		require.Equal(x.t, want, x.do(&x.mem, again), "in MemStore: %+v asked for %+v at %d", x.policy, ask, x.now)
		require.Equal(x.t, ask.Charges, again.Charges, "in MemStore, by %+v when asked for %+v at %d", x.policy, ask, x.now)
	}

	if x.exact {
		x.checkRemaining(got)
		x.checkForgetting(got)
		ask.Charges = nil
		x.checkRetry(ask, got)
	}
	return got
}

// checkForgetting is checkExpiry for instants from now on. An earlier instant may be the start of a
// window for a part whose events were all given back, and the other parts know nothing of that.
func (x *composedTrial) checkForgetting(a weir.Answer) {
	expiry := x.decider.Expiry(x.state)
	if int64(a.ResetAfter) <= math.MaxInt64-x.now {
		require.Equal(x.t, x.now+int64(a.ResetAfter), max(x.now, expiry), "R6: %+v, ResetAfter and Expiry", x.policy)
	}
	if expiry == math.MaxInt64 {
		return // saturated
	}
	fresh := make([]uint64, x.decider.Words())
	for _, ask := range []weir.Ask{{}, {N: 1}, {N: a.Limit}, {N: -1}, {N: 3, Mode: weir.UpTo}, {N: a.Limit, MaxWait: math.MaxInt64}} {
		for _, at := range []int64{max(expiry, x.now), math.MaxInt64} {
			_, got := x.decide(x.state, at, ask)
			_, want := x.decide(fresh, at, ask)
			require.Equal(x.t, want, got, "R6: %+v remembered after Expiry when asked for %+v", x.policy, ask)
		}
	}
	if expiry > x.now {
		_, got := x.decide(x.state, expiry-1, weir.Ask{})
		_, want := x.decide(fresh, expiry-1, weir.Ask{})
		require.NotEqual(x.t, want, got, "R6: %+v forgot before Expiry", x.policy)
	}
}

func (x *composedTrial) askModel(ask weir.Ask) (weir.Answer, model, []weir.Result) {
	switch m := x.model.(type) {
	case allModel:
		return m.askAll(x.now, ask)
	case tiersModel:
		return m.askTiers(x.now, ask)
	}
	a, left := x.model.ask(x.now, ask)
	return a, left, nil
}

// askState is the answer of the pure function, and those of its parts.
func (x *composedTrial) askState(ask weir.Ask) (weir.Answer, []weir.Result) {
	var parts []weir.Result
	ask.ByComponent = &parts
	var a weir.Answer
	x.state, a = x.decider.Decide(x.state, x.now, ask)
	return a, parts
}

func (x *composedTrial) do(s weir.Store, ask weir.Ask) weir.Answer {
	a, err := s.Do(context.Background(), weir.Request{Plan: x.plan, Key: "key", Ask: ask})
	require.NoError(x.t, err)
	require.Equal(x.t, x.now, a.At)
	a.At = 0
	return a
}

// run asks in the manner of one of the courses, which know the same grants.
func (x *composedTrial) run(tp *tape, cs []course) {
	now := cs[0].origin()
	last, grants := x.ask(now, weir.Ask{}), []grant(nil)
	for steps := 0; len(tp.rest) > 0 && steps < 50; steps++ {
		c := pick(tp, cs...)
		c.last, c.grants = last, grants
		now = c.at(x.now)
		ask := c.ask()
		last = x.ask(now, ask)
		c.note(x.now, ask, last)
		grants = c.grants
	}
}
