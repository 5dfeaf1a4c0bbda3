package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// Each of these stores does what only some stores do, and keeps the rules.
func TestRightStoresPass(t *testing.T) {
	for _, c := range []struct {
		does       string
		store      sim
		passesCase string
		opts       []Option
	}{
		{"refuses what lives too long", sim{tooLong: refuse}, "Expiry by a server", nil},
		{"denies what lives too long", sim{tooLong: deny}, "Expiry by a server", nil},
		{"keeps denials", sim{denies: 30 * simEarly, answer: anyRemaining()}, "Expiry by a server", []Option{Bounds(30 * simEarly)}},
		{"keeps denials, in front of a clock", sim{denies: simEarly}, "At", []Option{Bounds(simEarly), simClock()}},
		{"has a clock that nobody sets", sim{ask: takeTime}, "Bounds of two stores", []Option{inRealTime}},
		{"holds events", sim{holds: 5}, "Failures: a hanging backend", []Option{Bounds(simEarly)}},
	} {
		t.Run(c.does, func(t *testing.T) {
			assert.Empty(t, runAlone(t, c.passesCase, patience, func() weir.Store { s := c.store; return s.ready() }, c.opts...))
		})
	}
}

func refuse() (weir.Answer, error) {
	return weir.Answer{}, fmt.Errorf("a day at most: %w", weir.ErrRequest)
}

func deny() (weir.Answer, error) {
	return weir.Answer{Result: weir.Result{RetryAfter: weir.Never}}, nil
}

// anyRemaining tells any number of a key that has events left.
func anyRemaining() func(weir.Ask, *weir.Answer) {
	answers := 0
	return func(_ weir.Ask, a *weir.Answer) {
		answers++
		a.Remaining = answers % (a.Remaining + 1)
	}
}

func takeTime(*weir.Ask) { time.Sleep(10 * time.Millisecond) }

func inRealTime(s *suite) { s.realTime, s.byLimiter = true, true }
