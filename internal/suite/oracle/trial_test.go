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

// lastSecond is where a limiter's time ends: any later instant counts as the largest int64.
const lastSecond = math.MaxInt64 / int64(time.Second) * int64(time.Second)

// A trial puts the same asks to a policy as a pure function, to a limiter with a store and a clock,
// and to the model, and requires that all three agree. It compares before it calls require, which
// looks up its callers, and would take a third of the time.
type trial struct {
	t       *testing.T
	policy  weir.Policy
	model   model
	decider weir.Decider
	state   []uint64
	now     int64 // the latest instant
	granted int64 // the latest instant at which the state changed

	clock   kit.HandClock
	front   kit.FrontStore
	limiter *weir.KeyedLimiter // through the front, so that it can be asked all
	direct  *weir.KeyedLimiter // past it: MemStore has short ways for Allow and Take
	allows  int                // how many asks could have gone a short way; every other does
}

func newTrial(t *testing.T, p weir.Policy) *trial {
	d, err := p.Decider()
	require.NoError(t, err)
	x := &trial{t: t, policy: p, model: modelOf(p), decider: d, state: make([]uint64, d.Words())}
	x.limiter, err = weir.New(p, weir.WithStore(&x.front), weir.WithClock(&x.clock))
	require.NoError(t, err)
	x.direct, err = weir.New(p, weir.WithStore(&x.front.MemStore), weir.WithClock(&x.clock))
	require.NoError(t, err)
	return x
}

// ask puts the ask to all three at the instant at, which may lie before earlier ones.
func (x *trial) ask(at int64, ask weir.Ask) weir.Answer {
	if at >= lastSecond {
		at = math.MaxInt64
	}
	x.clock.Time = time.Unix(0, at)
	x.now = max(x.now, at)

	want, left := x.model.ask(x.now, ask)
	before, again := slices.Clone(x.state), anew(ask)
	state, got := x.decide(x.state, x.now, again)
	if want != got {
		require.Equal(x.t, want, got, "%#v asked for %+v at %d", x.policy, ask, x.now)
	}
	require.Equal(x.t, ask.Charges, again.Charges, "%#v asked for %+v at %d", x.policy, ask, x.now)
	if ask == (weir.Ask{N: max(ask.N, 0)}) && at == x.now && x.shortWay() { // each limiter knows its own latest instant
		if ask.N == 1 && x.allows%4 == 1 {
			require.Equal(x.t, want.Allowed, x.direct.Allow("key"), "Allow of %#v at %d", x.policy, x.now)
		} else {
			r, err := x.direct.Take(context.Background(), "key", ask.N)
			if err != nil {
				require.NoError(x.t, err)
			}
			if want.Result != r {
				require.Equal(x.t, want.Result, r, "Take of %#v, of %d at %d", x.policy, ask.N, x.now)
			}
		}
		look, _ := left.ask(x.now, weir.Ask{})
		require.Equal(x.t, look, x.take(weir.Ask{}), "%#v after Allow or Take at %d", x.policy, x.now)
	} else {
		again := anew(ask)
		require.Equal(x.t, want, x.take(again), "%#v in a store, asked for %+v at %d", x.policy, ask, x.now)
		require.Equal(x.t, ask.Charges, again.Charges, "%#v in a store, asked for %+v at %d", x.policy, ask, x.now)
	}

	if ask.N == 0 || !got.Allowed {
		if !slices.Equal(before, state) {
			require.Equal(x.t, before, state, "R2, R3: %#v changed by %+v at %d", x.policy, ask, x.now)
		}
	} else {
		x.granted = x.now
	}
	x.state, x.model = state, left
	ask.Charges = nil
	x.checkRetry(ask, got)
	x.checkRemaining(got)
	x.checkExpiry(got)
	x.checkLate(ask)
	return got
}

// anew is a copy of an ask, with a place of its own for its charges.
func anew(ask weir.Ask) weir.Ask {
	if ask.N > 0 && ask.Charges != nil {
		ask.Charges = new([]weir.Charge)
	}
	return ask
}

// decide is the policy's answer to a copy of state.
func (x *trial) decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	next, a := x.decider.Decide(slices.Clone(state), now, ask)
	if d, ok := x.decider.(weir.WordDecider); ok {
		word, b := d.DecideWord(state[0], now, ask)
		if len(next) != 1 || next[0] != word {
			require.Equal(x.t, next, []uint64{word}, "%#v: DecideWord of %+v", x.policy, ask)
		}
		if a != b {
			require.Equal(x.t, a, b, "%#v: DecideWord of %+v", x.policy, ask)
		}
		if word == math.MaxUint64 {
			require.NotEqual(x.t, uint64(math.MaxUint64), word, "%#v: the word that is the store's", x.policy)
		}
	}
	return next, shown(a)
}

// shown is the answer without what only a line of waiting callers reads.
func shown(a weir.Answer) weir.Answer {
	return weir.Answer{
		Result: a.Result, Delay: a.Delay, QueueFull: a.QueueFull, ServerTime: a.ServerTime, Granted: a.Granted, At: a.At,
	}
}

// shortWay tells whether to take a short way.
func (x *trial) shortWay() bool {
	x.allows++
	return x.allows%2 == 1
}

// take is the limiter's answer.
func (x *trial) take(ask weir.Ask) weir.Answer {
	n := ask.N
	if ask != (weir.Ask{N: max(n, 0)}) {
		n, x.front.Instead = 0, ask
	}
	r, err := x.limiter.Take(context.Background(), "key", n)
	x.front.Instead = weir.Ask{}
	if err != nil {
		require.NoError(x.t, err)
	}
	a := x.front.Answer
	if r != a.Result {
		require.Equal(x.t, r, a.Result)
	}
	if x.now != a.At {
		require.Equal(x.t, x.now, a.At, "%#v asked for %+v", x.policy, ask)
	}
	a.At = 0 // which a policy does not tell
	return shown(a)
}
