package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// onServer returns the suite for stores whose server expires states by real time, as they are in
// production.
func (s *suite) onServer() *suite {
	t := *s
	t.newStore = s.expiring
	t.realTime, t.byLimiter, t.setClock = true, !s.ownTime(), nil
	return &t
}

// Expiry: a server that expires states by real time keeps each for as long as it matters, however
// short or long that is. If a time to live is rounded down to zero, nothing is limited. Some
// servers take a long time to live for an instant.
func expiresOnServer(e *env) {
	for _, c := range []struct {
		name string
		run  func(*env)
	}{
		{"short", expiresInRealTime},
		{"short, in a burst", timeToLiveNeverZero},
		{"long", keptForLong},
	} {
		e.sub(e.TB, c.name, func(tb testing.TB) { c.run(e.onServer().env(tb)) })
	}
}

// keptForLong checks states that stay for a minute, for decades, and for ever. memcached takes an
// expiration of more than 30 days for an instant.
func keptForLong(e *env) {
	const day = 24 * time.Hour
	for _, per := range []time.Duration{time.Minute, 29 * day, 31 * day, 400 * day, 50 * 365 * day, weir.Never} {
		for _, p := range []weir.Policy{
			weir.TokenBucket{Limit: 1, Per: per},
			weir.FixedWindow{Limit: 1, Per: per, FromFirst: true},
			weir.SlidingLog{Limit: 1, Per: per},
		} {
			if l, ok := e.accepted(p, fmt.Sprintf("%#v", p)); ok && (!e.take(l, "k", 1).Allowed || e.take(l, "k", 1).Allowed) {
				e.Fatalf("%s: %#v: the first event must be granted, and the second be denied", expiryRule, p)
			}
		}
	}
	l, ok := e.accepted(tally{}, "for ever")
	if !ok {
		return
	}
	e.take(l, "k", 1)
	want := e.model(tally{}).do("k", e.clock.Now(), weir.Ask{N: 1})
	if r := e.take(l, "k", 0); r.Remaining != want.Remaining {
		e.Fatalf("%s: a state that never expires was forgotten", expiryRule)
	}
}

// accepted returns a limiter, unless the store refuses the policy because it can't keep its states
// for so long.
func (e *env) accepted(p weir.Policy, name string) (limiter, bool) {
	if _, err := weir.New(p, weir.WithStore(e.store), weir.WithName(name)); err != nil {
		return limiter{}, false
	}
	return e.limiter(p, name), true
}
