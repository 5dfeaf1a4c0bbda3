package weir_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// A carryTrial puts asks to two policies in turn that are of one name: as pure functions with Carry between them,
// to two limiters on one store, and to models. All three must agree.
type carryTrial struct {
	t        *testing.T
	policies [2]weir.Policy
	deciders [2]weir.Decider
	limiters [2]*weir.Keyed
	clock    handClock
	front    frontStore

	state  []uint64
	model  model
	writer int // who left them
}

func newCarryTrial(t *testing.T, p, q weir.Policy) *carryTrial {
	x := &carryTrial{t: t, policies: [2]weir.Policy{p, q}, model: modelOf(p)}
	for i, p := range x.policies {
		var err error
		x.deciders[i], err = p.Decider()
		require.NoError(t, err)
		x.limiters[i] = weir.Must(weir.New(p, weir.WithStore(&x.front), weir.WithClock(&x.clock)))
	}
	x.state = make([]uint64, x.deciders[0].Words())
	return x
}

// ask puts the ask to the policy i, not before the last.
func (x *carryTrial) ask(i int, now int64, ask weir.Ask) weir.Answer {
	state, m, exact := slices.Clone(x.state), x.model, true
	if i != x.writer {
		state, m, exact = x.carry(i, now)
	}
	want, left := m.ask(now, ask)
	state, got := x.deciders[i].Decide(state, now, ask)
	require.Equal(x.t, want, got, "%#v after %#v, asked for %+v at %d", x.policies[i], x.policies[1-i], ask, now)
	kept := exact || got.Allowed && ask.N != 0
	want.Rounded = !kept
	require.Equal(x.t, want, x.take(i, now, ask), "%#v after %#v in a store, asked for %+v at %d", x.policies[i], x.policies[1-i], ask, now)
	if kept {
		x.state, x.model, x.writer = state, left, i
	}
	return got
}

// carry checks what becomes of the state, and returns it, with a model that fits it and whether it is exact.
func (x *carryTrial) carry(i int, now int64) ([]uint64, model, bool) {
	from, before := x.deciders[x.writer], slices.Clone(x.state)
	state, exact := weir.Carry(from, x.deciders[i], x.state, now)
	m, wantExact := carriedModel(x.model, x.policies[i], now)
	what := []any{"%#v to %#v at %d: %v", x.policies[x.writer], x.policies[i], now, x.state}
	require.Equal(x.t, wantExact, exact, what...)
	require.Equal(x.t, before, x.state, what...)

	m, late := rounded(m, state)
	if late != nil {
		require.GreaterOrEqual(x.t, late.Sign(), 0, what...)
		require.Negative(x.t, late.Cmp(big.NewRat(1, 1)), what...)
	}
	if from.Expiry(x.state) <= now {
		require.True(x.t, exact, what...)
		require.Equal(x.t, make([]uint64, x.deciders[i].Words()), state, what...) // R6: a store may have forgotten it
	}
	return state, m, exact
}

func (x *carryTrial) take(i int, now int64, ask weir.Ask) weir.Answer {
	x.clock.Time = time.Unix(0, now)
	x.front.instead = ask
	_, err := x.limiters[i].Take(x.t.Context(), "key", 0)
	require.NoError(x.t, err)
	a := x.front.answer
	require.Equal(x.t, now, a.At)
	a.At = 0
	return a
}

// Carry follows its rules, from any policy to any other, in any state, and back.
func FuzzCarry(f *testing.F) {
	for seed := range byte(200) {
		bytes := make([]byte, 800)
		_, _ = rand.NewChaCha8([32]byte{seed, 1}).Read(bytes)
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		tp := &tape{bytes}
		var courses [2]course
		var policies [2]weir.Policy
		policies[0], courses[0] = tp.policy()
		policies[1], courses[1] = tp.policyLike(policies[0])
		x := newCarryTrial(t, policies[0], policies[1])
		for i := range courses {
			courses[i].tape = tp
		}
		now, i := min(courses[0].origin(), lastSecond-1), 0
		for steps := 0; len(tp.rest) > 0 && steps < 50; steps++ {
			if tp.byte()%4 == 0 {
				i = 1 - i
			}
			c := &courses[i]
			now = min(max(c.at(now), now), lastSecond-1)
			ask := c.ask()
			a := x.ask(i, now, ask)
			c.note(now, ask, a)
		}
	})
}

// A denial right after an exact change tells when the ask is granted, although nothing was granted since.
func TestR4_RetryAfterIsTightAfterAChange(t *testing.T) {
	checked := 0
	eachPair(t, func(t *testing.T, p, q weir.Policy) {
		for used := 1; used <= 100; used += 11 {
			for _, n := range []int{1, 20, 50} {
				x := newCarryTrial(t, p, q)
				x.ask(0, t0, weir.Ask{N: used})
				now := t0 + int64(17*time.Second)
				_, exact := weir.Carry(x.deciders[0], x.deciders[1], x.state, now)
				a := x.ask(1, now, weir.Ask{N: n})
				if a.Allowed || !exact || a.RetryAfter == weir.Never {
					continue
				}
				checked++
				require.False(t, x.ask(1, now+int64(a.RetryAfter)-1, weir.Ask{N: n}).Allowed)
				require.True(t, x.ask(1, now+int64(a.RetryAfter), weir.Ask{N: n}).Allowed)
			}
		}
	})
	require.Greater(t, checked, shorter(100, 10))
}

// Denials by two limiters in turn do not keep a key shut: it opens when the slower one alone would open it.
func TestR2_TwoPoliciesInTurnKeepNoKeyShut(t *testing.T) {
	eachPair(t, func(t *testing.T, p, q weir.Policy) {
		_, a := rateOf(p)
		_, b := rateOf(q)
		slower := int64(max(a, b))
		if isQueue(p) && isQueue(q) {
			slower *= 2 // a hundred events at fifty a minute
		}
		opens := t0 + 2*slower // a window that slides may take twice its length
		for first := range 2 {
			x := newCarryTrial(t, p, q)
			for _, i := range []int{first, 1 - first} { // until both are shut
				x.ask(i, t0, weir.Ask{N: max(x.ask(i, t0, weir.Ask{}).Remaining, 1)})
			}
			for now := t0; now < opens; now += slower/50 + 1 {
				for i := range 2 {
					limit := x.ask(i, now, weir.Ask{}).Limit
					require.False(t, x.ask(i, now, weir.Ask{N: limit + 1}).Allowed)
				}
			}
			for i := range 2 {
				require.Positive(t, x.ask(i, opens, weir.Ask{}).Remaining, "%#v and %#v", p, q)
			}
		}
	})
}

// Whatever two limiters granted before: at one instant they grant together no more than the larger limit.
func TestP10_NoMoreThanALimitAtOneInstant(t *testing.T) {
	eachPair(t, func(t *testing.T, p, q weir.Policy) {
		random := rand.New(rand.NewPCG(3, 4))
		for range 10 {
			x, now := newCarryTrial(t, p, q), t0
			for range 5 {
				granted, most := 0, 0
				for range 8 {
					i, n := random.IntN(2), random.IntN(40)
					if n == 0 {
						n = x.ask(i, now, weir.Ask{}).Remaining
					}
					a := x.ask(i, now, weir.Ask{N: n})
					most = max(most, a.Limit)
					if a.Allowed {
						granted += n
					}
				}
				require.LessOrEqual(t, granted, most, "%#v and %#v", p, q)
				now += random.Int64N(int64(40 * time.Second))
			}
		}
	})
}

func isQueue(p weir.Policy) bool {
	_, ok := p.(weir.LeakyBucket)
	return ok
}

// eachPair runs a test of every policy with every other, of the same limit, rate and period, and not.
func eachPair(t *testing.T, test func(t *testing.T, p, q weir.Policy)) {
	i := 0
	for _, p := range allPolicies(100, time.Minute) {
		for _, q := range slices.Concat(allPolicies(50, time.Minute), allPolicies(100, 61*time.Second), allPolicies(7, 10*time.Second)) {
			if i++; i%shorter(1, 7) != 0 {
				continue
			}
			test(t, p, q)
		}
	}
}
