package oracle

import (
	"math"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// checkRetry checks R4 on the policy itself: the same ask is denied until RetryAfter has
// passed, and granted then.
func (x *trial) checkRetry(ask weir.Ask, a weir.Answer) {
	if a.Allowed != (a.RetryAfter == 0) {
		require.Equal(x.t, a.Allowed, a.RetryAfter == 0, "R4: %#v answered %+v", x.policy, a)
	}
	if a.Allowed {
		return
	}
	wait := int64(a.RetryAfter)
	if a.RetryAfter == weir.Never || wait > math.MaxInt64-x.now {
		_, last := x.decide(x.state, math.MaxInt64-1, ask)
		if last.Allowed {
			require.False(x.t, last.Allowed, "R4: %#v granted %+v before the end of time: %+v", x.policy, ask, a)
		}
		return
	}
	_, early := x.decide(x.state, x.now+wait-1, ask)
	if early.Allowed {
		require.False(x.t, early.Allowed, "R4: %#v granted %+v too early: %+v", x.policy, ask, a)
	}
	_, due := x.decide(x.state, x.now+wait, ask)
	beyond := ask.MaxWait > 0 && due.RetryAfter == weir.Never // R9: what would be paid for after the last instant is denied
	if !due.Allowed && !beyond {
		require.True(x.t, due.Allowed || beyond, "R4: %#v denied %+v when due: %+v", x.policy, ask, a)
	}

	earlyWant, _ := x.model.ask(x.now+wait-1, ask)
	dueWant, _ := x.model.ask(x.now+wait, ask)
	if earlyWant != early || dueWant != due {
		require.Equal(x.t, []weir.Answer{earlyWant, dueWant}, []weir.Answer{early, due}, "%#v", x.policy)
	}
}

// checkRemaining checks R5: Remaining events pass now, and one more does not.
func (x *trial) checkRemaining(a weir.Answer) {
	if a.Remaining < 0 {
		require.GreaterOrEqual(x.t, a.Remaining, 0)
	}
	if a.Remaining > a.Limit {
		require.LessOrEqual(x.t, a.Remaining, a.Limit)
	}
	_, all := x.decide(x.state, x.now, weir.Ask{N: a.Remaining})
	if !all.Allowed {
		require.True(x.t, all.Allowed, "R5: %#v denied all of %d", x.policy, a.Remaining)
	}
	most, upTo := weir.Answer{}, weir.Ask{N: math.MaxInt, Mode: weir.UpTo}
	_, most = x.decide(x.state, x.now, upTo)
	if a.Remaining != most.Granted {
		require.Equal(x.t, a.Remaining, most.Granted, "R5: %#v granted as many as there are", x.policy)
	}
	if (a.Remaining > 0) != most.Allowed {
		require.Equal(x.t, a.Remaining > 0, most.Allowed)
	}
	if a.Remaining < math.MaxInt {
		_, more := x.decide(x.state, x.now, weir.Ask{N: a.Remaining + 1})
		if more.Allowed {
			require.False(x.t, more.Allowed, "R5: %#v granted more than %d", x.policy, a.Remaining)
		}
	}
}

// checkExpiry checks R6: from Expiry on nothing tells the state from a new one, and something
// does one nanosecond before.
func (x *trial) checkExpiry(a weir.Answer) {
	expiry := x.decider.Expiry(x.state)
	if a.ResetAfter > 0 && int64(a.ResetAfter) <= math.MaxInt64-x.now {
		require.Equal(x.t, x.now+int64(a.ResetAfter), expiry, "R6: %#v, ResetAfter and Expiry", x.policy)
	} else if a.ResetAfter == 0 {
		require.LessOrEqual(x.t, expiry, x.now, "R6: %#v, Expiry after the reset", x.policy)
	}
	if expiry == math.MaxInt64 {
		return // saturated
	}
	fresh := make([]uint64, x.decider.Words())
	for _, ask := range []weir.Ask{
		{},
		{N: 1},
		{N: a.Limit},
		{N: -1},
		{N: -1, GrantedAt: x.granted},
		{N: a.Limit, MaxWait: math.MaxInt64},
		{N: math.MaxInt, Mode: weir.UpTo},
		{N: math.MaxInt, Mode: weir.Regardless},
	} {
		for _, at := range []int64{expiry, max(expiry, x.now), math.MaxInt64} {
			_, got := x.decide(x.state, at, ask)
			_, want := x.decide(fresh, at, ask)
			if want != got {
				require.Equal(x.t, want, got, "R6: %#v remembered after Expiry when asked for %+v", x.policy, ask)
			}
		}
	}
	if expiry > x.granted {
		_, got := x.decide(x.state, expiry-1, weir.Ask{})
		_, want := x.decide(fresh, expiry-1, weir.Ask{})
		if want == got {
			require.NotEqual(x.t, want, got, "R6: %#v forgot before Expiry", x.policy)
		}
	}
}

// checkLate checks R7 on the policy itself, because a limiter's clock never goes back. An instant
// before the latest grant earns nothing. A grant at such an instant leaves the same state as a
// grant at the latest instant.
func (x *trial) checkLate(ask weir.Ask) {
	if ask.N <= 0 || x.decider.Expiry(x.state) <= x.granted {
		return
	}
	_, look := x.decide(x.state, x.granted, weir.Ask{})
	next, due := x.decide(x.state, x.granted, ask)
	for _, late := range []int64{x.granted - 1, x.granted / 2, 0} {
		if late < 0 {
			continue
		}
		_, lateLook := x.decide(x.state, late, weir.Ask{})
		if lateLook.Remaining > look.Remaining {
			require.LessOrEqual(x.t, lateLook.Remaining, look.Remaining, "R7: %#v at %d", x.policy, late)
		}
		after, a := x.decide(x.state, late, ask)
		if a.Allowed {
			if !due.Allowed {
				require.True(x.t, due.Allowed, "R7: %#v granted %+v at %d", x.policy, ask, late)
			}
			if a.Granted > due.Granted {
				require.LessOrEqual(x.t, a.Granted, due.Granted, "R7: %#v granted %+v at %d", x.policy, ask, late)
			}
			if a.Granted == due.Granted {
				if !slices.Equal(next, after) {
					require.Equal(x.t, next, after, "R7: %#v earned at %d", x.policy, late)
				}
			}
		}
	}
}
