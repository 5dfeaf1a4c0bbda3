package storetest

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir"
)

// A suite is the store and the options given to Run. It uses testing.TB only, so that its own tests
// can observe failures.
type suite struct {
	newStore  func(testing.TB) weir.Store
	sub       func(tb testing.TB, name string, f func(testing.TB))
	patience  time.Duration // how long a case waits for an effect that must come at once
	tick      time.Duration
	setClock  func(weir.Store, time.Time) // nil unless the store has a clock of its own
	realTime  bool
	byLimiter bool // by real time, and the store reads the clocks of limiters
	isFar     bool

	bounds   bool                               // the answers need not be exact
	early    time.Duration                      // if bounds: how early a denial may be
	inBubble func(testing.TB, func(testing.TB)) // nil unless the cases of bounds run in bubbles

	another     func(testing.TB, weir.Store) weir.Store // nil unless the store shares a backend
	loseReplies func(weir.Store, int)                   // nil unless replies can get lost
	hang        func(weir.Store) (resume func())        // nil unless the backend can hang
	expiring    func(testing.TB) weir.Store             // nil unless a server expires states by real time
}

func (s *suite) run(tb testing.TB) {
	for _, c := range testCases() {
		if c.bounds == exactly && s.bounds || c.bounds == withBounds && !s.bounds {
			continue
		}
		s.runCase(tb, c)
	}
}

func (s *suite) runCase(tb testing.TB, c testCase) {
	s.sub(tb, c.name, func(tb testing.TB) {
		if reason := s.lacks(c.needs); reason != "" {
			tb.Skip(reason)
		}
		c.run(s.env(tb))
	})
}

// A need is a feature that a case needs of the suite.
type need int

const (
	nothing    need = iota
	aClock          // a clock that can be set
	ownClock        // a clock of the store, settable or not
	byRealTime      // a store that decides by real time
	sharing         // another store on the backend
	lostReply       // a reply that can be lost
	aHang           // a backend that can hang
	expiry          // a server that expires states by real time
)

// lacks returns why the suite cannot provide what a case needs, or "" if it can.
func (s *suite) lacks(n need) string {
	switch {
	case n == aClock && s.realTime:
		return "the store's clock can't be set"
	case n == ownClock && !s.realTime && s.setClock == nil:
		return "the store has no clock of its own"
	case n == byRealTime && !s.realTime:
		return "the store's clock can be set"
	case n == sharing && s.another == nil:
		return "Run was not told how: Shared"
	case n == lostReply && s.loseReplies == nil:
		return "Run was not told how: LostReplies"
	case n == aHang && s.hang == nil:
		return "Run was not told how: Hangs"
	case n == expiry && s.expiring == nil:
		return "Run was not told how: ServerExpiry"
	}
	return ""
}

// start is the first instant of the clock: a fraction of a second after a whole one, on a day in
// 2023.
var start = time.Unix(1_700_006_400, 0).Add(3*time.Hour + 123_457*time.Microsecond)

// An env is a store under test, and its clock.
type env struct {
	testing.TB
	*suite
	store  weir.Store
	others []weir.Store // other stores on the same backend
	clock  *manualClock
	bubble bool // in a testing/synctest bubble, whose clock the limiters and the store use
}

func (s *suite) env(tb testing.TB) *env {
	e := &env{TB: tb, suite: s, store: s.newStore(tb), clock: newManualClock()}
	e.at(0)
	return e
}

// ownTime reports whether the store decides by a clock of its own.
func (s *suite) ownTime() bool { return s.setClock != nil || s.realTime && !s.byLimiter }

// alsoOn makes another store on the backend.
func (e *env) alsoOn() weir.Store {
	s := e.another(e.TB, e.store)
	e.others = append(e.others, s)
	e.set(e.clock.Now())
	return s
}

// each runs f as a subtest for every policy, each with a new store.
func (e *env) each(policies []named, f func(e *env, p weir.Policy)) {
	for _, p := range policies {
		e.sub(e.TB, p.name, func(tb testing.TB) { f(e.env(tb), p.Policy) })
	}
}

// at sets the clock to start + d, rounded up to the tick.
func (e *env) at(d time.Duration) { e.set(start.Add(d)) }

// advance sets the clock forward by d, rounded up to the tick.
func (e *env) advance(d time.Duration) { e.set(e.clock.Now().Add(d)) }

func (e *env) set(now time.Time) {
	switch {
	case e.realTime:
		return
	case e.bubble:
		time.Sleep(time.Until(now))
		synctest.Wait() // until what the store's timers have started is done
		e.clock.set(time.Now())
		return
	}
	now = time.Unix(0, int64(e.up(time.Duration(now.UnixNano()))))
	if e.setClock != nil {
		e.setClock(e.store, now) // first: requests that the other clock wakes ask the store at once
		for _, s := range e.others {
			e.setClock(s, now)
		}
	}
	e.clock.set(now)
}

// up returns d rounded up to the tick. A saturated duration stays the same.
func (s *suite) up(d time.Duration) time.Duration {
	if rest := d % s.tick; rest > 0 {
		if d > math.MaxInt64-s.tick {
			return math.MaxInt64
		}
		d += s.tick - rest
	}
	return d
}

// seen returns the parts of an answer that can be compared with a policy's answer, which has no At
// and no ServerTime.
func (s *suite) seen(a weir.Answer, ask weir.Ask) weir.Answer {
	a.At, a.ServerTime = 0, false
	if s.realTime {
		a.RetryAfter, a.ResetAfter, a.MoreAfter, a.Delay = 0, 0, 0, 0
		return a
	}
	a.RetryAfter, a.ResetAfter, a.MoreAfter = s.up(a.RetryAfter), s.up(a.ResetAfter), s.up(a.MoreAfter)
	if ask.N < 0 {
		a.Delay -= a.Delay % s.tick
	} else {
		a.Delay = s.up(a.Delay)
	}
	return a
}

// few returns n, or a tenth of it if requests take long, or a fortieth if the tests are to be
// short. TestBrokenStoresAreCaught finds every fault with a fortieth too.
func (s *suite) few(n int) int {
	switch {
	case testing.Short():
		return n / 40
	case s.isFar:
		return n / 10
	}
	return n
}

// long returns a period that is long enough: nothing is earned and no window ends while a test
// runs.
func (e *env) long() time.Duration {
	if e.realTime {
		return 50 * 365 * 24 * time.Hour // the current window began at the end of 2019
	}
	return 24 * time.Hour
}

// exhaust takes single events until one is denied. It returns how many were granted, and the
// denial. It gives up when more than most were granted.
func (e *env) exhaust(l limiter, key string, most int) (int, weir.Result) {
	e.Helper()
	for granted := 0; ; granted++ {
		if r := e.take(l, key, 1); !r.Allowed || granted > most {
			return granted, r
		}
	}
}

// same reports whether two results are equal, where they can be compared.
func (e *env) same(a, b weir.Result) bool {
	return e.seen(weir.Answer{Result: a}, weir.Ask{}) == e.seen(weir.Answer{Result: b}, weir.Ask{})
}

// short returns a key in a form that can be printed.
func short(key string) string {
	if len(key) > 40 {
		return fmt.Sprintf("%.20q...%q (%d bytes)", key, key[len(key)-10:], len(key))
	}
	return fmt.Sprintf("%q", key)
}
