package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// simEarly is what the sims declare that are not exact.
const simEarly = time.Second

// Each of these stores breaks a bound, or expires states too early.
func TestStoresBeyondTheirBoundsAreCaught(t *testing.T) {
	for _, c := range []struct {
		does      string
		store     sim
		failsCase string
		names     string
	}{
		{"grants one more in a window", sim{runs: oneMore}, "Bounds of one store", overRule},
		{"fills a bucket each second", sim{runs: bucketBySecond}, "Bounds of one store", overRule},
		{"counts a log by windows", sim{runs: logByWindow}, "Bounds of one store", overRule},
		{"has shorter windows", sim{runs: halfWindow}, "Bounds of one store", overRule},
		{"forgets in half the time", sim{live: half}, "Bounds of one store", overRule},
		{"forgets when it was asked again", sim{loses: 11}, "Bounds of one store", overRule},
		{"answers by what it saw itself", sim{caches: true}, "Bounds of two stores", overRule},
		{"reads and writes in two steps", sim{between: yields}, "Bounds at one instant", overRule},
		{"gives back twice", sim{ask: backTwice}, "Bounds after giving back", overRule},

		{"keeps a denial for too long", sim{denies: 2 * simEarly}, "Bounds of one store", earlyRule},
		{"keeps a denial for too long", sim{denies: 2 * simEarly}, "Bounds of two stores", earlyRule},
		{"keeps a denial as long as it is asked", sim{denies: simEarly, renews: true}, "Bounds of one store", earlyRule},
		{"loses what it holds", sim{drops: 10}, "Bounds of one store", earlyRule},
		{"loses what it holds", sim{drops: 10}, "Bounds of two stores", earlyRule},
		{"grants one less", sim{runs: oneFewer}, "Bounds of one store", earlyRule},
		{"denies everything", sim{answer: denyAll}, "Bounds of one store", earlyRule},
		{"denies for ever", sim{answer: denyForEver}, "Bounds of one store", earlyRule},
		{"counts denials", sim{debt: true}, "Bounds of one store", earlyRule},
		{"counts looks", sim{ask: countLooks}, "Bounds of one store", r3},
		{"grants more than fits", sim{ask: manyAsOne}, "Bounds of one store", overRule},

		{"counts nothing that has parts", sim{ask: unless(func(a weir.Ask) bool { return a.ByComponent != nil })}, "Bounds of one store", overRule},
		{"counts nothing that can be given back", sim{ask: unless(func(a weir.Ask) bool { return a.Charges != nil })}, "Bounds of one store", overRule},
		{"counts nothing that may wait", sim{ask: unless(func(a weir.Ask) bool { return a.MaxWait > 0 })}, "Bounds of one store", overRule},
		{"forgets what it books ahead", sim{keeps: func(_ weir.Ask, a weir.Answer) bool { return a.Delay == 0 }}, "Bounds of one store", overRule},
		{"books everything for now", sim{answer: func(_ weir.Ask, a *weir.Answer) { a.Delay = 0 }}, "Bounds of one store", overRule},
		{"charges no more than is left", sim{ask: chargeWhatIsLeft}, "Bounds of one store", overRule},
		{"counts no debts", sim{ask: unless(func(a weir.Ask) bool { return a.Mode == weir.Regardless })}, "Bounds after charging", overRule},
		{"forgets nothing", sim{forgets: forgetNothing}, "Bounds after forgetting", idleRule},
		{"forgets everything", sim{forgets: forgetAll}, "Bounds after forgetting", overRule},
		{"keeps what it holds of a forgotten key", hoards(), "Bounds after forgetting", overRule},

		{"starts anew with another policy", sim{carry: startAnew}, "Bounds after a change of policy", overRule},
		{"loses events of a key that is idle", sim{leaks: 20}, "Bounds after idling", idleRule},
		{"doesn't give back", sim{ask: dontGiveBack}, "Bounds after giving back", idleRule},
		{"doesn't give back what has no grant", sim{ask: dontReturn}, "Bounds after giving back", idleRule},
		{"keeps a denial for too long", sim{denies: time.Hour}, "Bounds after giving back", idleRule},

		{"forgets in half the time", sim{live: half}, "Expiry by a server", r6},
		{"lives for whole seconds", sim{live: wholly(time.Second)}, "Expiry by a server", r6},
		{"lives for a whole second or more", sim{live: atLeastASecond}, "Expiry by a server", r6},
		{"lives for as long as at first", sim{liveOnce: true}, "Expiry by a server", r6},
		{"lives by the asking policy alone", sim{liveBy: true}, "Expiry by a server", r6},
		{"takes a long life for an instant", sim{live: of30Days}, "Expiry by a server", expiryRule},
		{"loses what lives for ever", sim{live: notForEver}, "Expiry by a server", expiryRule},
		{"decides by a clock of its own", sim{now: realTime, wrongly: true}, "Expiry by a server", atRule},
	} {
		t.Run(c.does+", "+c.failsCase, func(t *testing.T) {
			failure := runAlone(t, c.failsCase, impatient, func() weir.Store { s := c.store; return s.ready() })
			require.NotEmpty(t, failure, "a store that %s passes %q", c.does, c.failsCase)
			assert.Contains(t, failure, c.names)
		})
	}
}

// unless makes requests of a kind look, and count nothing.
func unless(kind func(weir.Ask) bool) func(*weir.Ask) {
	return func(a *weir.Ask) {
		if a.N > 0 && kind(*a) {
			a.N, a.Mode = 0, weir.AllOrNone
		}
	}
}

func chargeWhatIsLeft(a *weir.Ask) {
	if a.Mode == weir.Regardless {
		a.Mode = weir.UpTo
	}
}

// hoards is a store that still holds nine events of a key that is forgotten.
func hoards() sim {
	held := 0
	return sim{
		forgets: func(s *sim, r weir.Request, id string) error {
			held = 9
			return forgetKnown(s, r, id)
		},
		ask: func(a *weir.Ask) {
			if a.N == 1 && held > 0 {
				held, a.N = held-1, 0
			}
		},
	}
}

// A store within its bounds passes all that is run with Bounds, and is caught without.
func TestBoundedStorePasses(t *testing.T) {
	bounded := func() weir.Store { s := sim{denies: simEarly}; return s.ready() }
	for _, c := range testCases() {
		if c.bounds == withBounds {
			assert.Empty(t, runAlone(t, c.name, patience, bounded), c.name)
		}
	}
	assert.Contains(t, runAlone(t, "Policy is run as it is", patience, bounded), policyRule)
}

func runsFixed(f func(weir.FixedWindow) weir.FixedWindow) func(weir.Policy) weir.Policy {
	return func(p weir.Policy) weir.Policy {
		if w, ok := p.(weir.FixedWindow); ok {
			return f(w)
		}
		return p
	}
}

func oneMore(p weir.Policy) weir.Policy {
	return runsFixed(func(w weir.FixedWindow) weir.FixedWindow { w.Limit++; return w })(p)
}

func oneFewer(p weir.Policy) weir.Policy {
	return runsFixed(func(w weir.FixedWindow) weir.FixedWindow { w.Limit--; return w })(p)
}

func halfWindow(p weir.Policy) weir.Policy {
	return runsFixed(func(w weir.FixedWindow) weir.FixedWindow { w.Per /= 2; return w })(p)
}

func bucketBySecond(p weir.Policy) weir.Policy {
	if b, ok := p.(weir.TokenBucket); ok && b.Burst == 0 {
		return weir.FixedWindow{Limit: b.Limit, Per: simEarly}
	}
	return p
}

func logByWindow(p weir.Policy) weir.Policy {
	if l, ok := p.(weir.SlidingLog); ok {
		return weir.FixedWindow{Limit: l.Limit, Per: l.Per}
	}
	return p
}

func backTwice(a *weir.Ask) {
	if a.N < 0 {
		a.N, a.GrantedAt, a.Charges = 2*a.N, 0, nil
	}
}

func dontReturn(a *weir.Ask) {
	if a.N < 0 && a.GrantedAt == 0 {
		a.N = 0
	}
}

func manyAsOne(a *weir.Ask) {
	if a.N > boundsLimit {
		a.N = 1
	}
}

func denyAll(_ weir.Ask, a *weir.Answer) { a.Allowed, a.RetryAfter = false, 1 }

func denyForEver(_ weir.Ask, a *weir.Answer) {
	if !a.Allowed {
		a.RetryAfter = weir.Never
	}
}

func of30Days(left int64) int64 {
	if left > int64(30*24*time.Hour) {
		return 0
	}
	return left
}

func notForEver(left int64) int64 {
	if left > int64(200*365*24*time.Hour) {
		return 0
	}
	return left
}
