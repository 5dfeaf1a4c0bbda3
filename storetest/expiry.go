package storetest

import (
	"context"
	"errors"
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
			if l, ok := e.kept(p, fmt.Sprintf("%#v", p)); ok && e.take(l, "k", 1).Allowed {
				e.Fatalf("%s: %#v: one event was granted, and then a second", expiryRule, p)
			}
		}
	}
	if e.bounds {
		return // Remaining may have any value
	}
	want := e.model(tally{}).do("k", e.clock.Now(), weir.Ask{N: 1})
	if l, ok := e.kept(tally{}, "for ever"); ok && e.take(l, "k", 0).Remaining != want.Remaining {
		e.Fatalf("%s: a state that never expires was forgotten", expiryRule)
	}
}

// kept returns a limiter that has granted an event. It returns false if the store refuses the
// policy or denies the event, because it can't keep the state for so long.
func (e *env) kept(p weir.Policy, name string) (l limiter, ok bool) {
	if _, err := weir.New(p, weir.WithStore(e.store), weir.WithName(name)); err != nil {
		return l, false
	}
	l = e.limiter(p, name)
	r, err := l.Take(context.Background(), "k", 1)
	if err != nil && !errors.Is(err, weir.ErrRequest) {
		e.Fatalf("%s: %#v: Take failed: %v", errorsRule, p, err)
	}
	return l, r.Allowed
}
