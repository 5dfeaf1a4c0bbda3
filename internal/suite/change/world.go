package change

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// A hand is a clock that a trial sets.
type hand struct{ ns int64 }

func (h *hand) Now() time.Time                     { return time.Unix(0, h.ns) }
func (*hand) After(time.Duration) <-chan time.Time { return nil }

// A call is the context of one call: it names the policy, and may have a deadline by the trial's
// clock.
type call struct {
	context.Context
	by    weir.Policy
	until time.Time
}

type byKey struct{}

func (c call) Value(key any) any {
	if key == (byKey{}) {
		return c.by
	}
	return c.Context.Value(key)
}

func (c call) Deadline() (time.Time, bool) { return c.until, !c.until.IsZero() }

var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// An answer is what became of a step.
type answer struct {
	Step
	at       int64 // the instant
	asked    int   // events
	granted  int
	delay    time.Duration
	result   weir.Result // of an ask, or of a look after one that has none
	skipped  bool        // there was nothing to do
	err      error
	returned int  // opReturn, opSettle: events that were given back
	over     bool // opReturn: more than were granted
	freed    int  // opSettle: events that are free since, though none of the reservation's counted any more
}

func (a answer) String() string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.skipped:
		return "nothing to do"
	case a.Op == opSettle || a.Op == opReturn || a.Op == opReset || a.Op == opAdvance || a.Op == opRetry || a.Op == opAllBack || a.Op == opWait || a.Op == opGiveUp:
		return "done"
	case a.asked == 0:
		return fmt.Sprintf("%d remain", a.result.Remaining)
	case a.granted == 0 && a.Op == opAllow:
		return "denied"
	case a.granted == 0:
		return fmt.Sprintf("denied for %v", a.result.RetryAfter)
	case a.delay > 0:
		return fmt.Sprintf("granted %d in %v", a.granted, a.delay)
	}
	return fmt.Sprintf("granted %d", a.granted)
}

// A held is a reservation.
type held struct {
	*weir.Reservation
	n, by, key int
	limiter    int
	deed       *deed // nil if it was denied
	era        int
	end        int64 // nothing of it counts from this instant on
	settled    bool
}

// A world is a trial that is played.
type world struct {
	*Trial
	suite    *Suite
	clock    *hand
	policies []weir.Policy
	limiters []*weir.KeyedLimiter
	current  int // bySetPolicy
	held     map[int]*held
	ledgers  [2]*ledger
	answers  []answer
	retry    time.Duration // of the last denial
	mirrors  []*mirror
	mirrored bool
}

func newWorld(t *Trial, s *Suite, clock *hand) *world {
	w := &world{Trial: t, suite: s, clock: clock, held: map[int]*held{}}
	for i := range w.ledgers {
		w.ledgers[i] = newLedger(t, s.grain())
	}
	for _, p := range t.Policies {
		w.policies = append(w.policies, p.policy())
	}
	var c weir.Clock = clock
	if clock == nil {
		c = bubbleClock{}
	}
	store := s.New(c)
	opts := []weir.Option{weir.WithStore(store), weir.WithClock(c), weir.WithName(s.name())}
	switch t.Mode {
	case byPeers:
		for _, p := range w.policies {
			w.limiters = append(w.limiters, weir.Must(weir.New(p, opts...)))
		}
	case byContext:
		opts = append(opts, weir.WithPolicyFor(func(ctx context.Context, _ string) weir.Policy {
			p, _ := ctx.Value(byKey{}).(weir.Policy)
			return p
		}))
		fallthrough
	default:
		w.limiters = append(w.limiters, weir.Must(weir.New(w.policies[0], opts...)))
	}
	return w
}

// A bubbleClock is that of a testing/synctest bubble.
type bubbleClock struct{}

func (bubbleClock) Now() time.Time                         { return time.Now() }
func (bubbleClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// now is the instant of a decision. R16: policies may take the Unix epoch for 1 ns after it.
func (w *world) now() int64 {
	if w.clock == nil {
		return time.Now().UnixNano()
	}
	return w.clock.ns
}

func (w *world) ledger(s Step) *ledger { return w.ledgers[s.Key] }

func key(s Step) string { return [2]string{"key", "control"}[s.Key] }

// limiter is the one that decides by the step's policy.
func (w *world) limiter(by int) *weir.KeyedLimiter {
	switch w.Mode {
	case byPeers:
		return w.limiters[by]
	case bySetPolicy:
		if w.current != by {
			if err := w.limiters[0].SetPolicy(context.Background(), w.policies[by]); err != nil {
				panic(err)
			}
			w.current = by
		}
	}
	return w.limiters[0]
}

// limiterOf is the number of the limiter that decides by a policy.
func (w *world) limiterOf(by int) int {
	if w.Mode == byPeers {
		return by
	}
	return 0
}

// ctx is the context of a step.
func (w *world) ctx(s Step) context.Context {
	c := call{Context: context.Background(), by: w.policies[s.By]}
	if s.Ended {
		c.Context = ended
	}
	if (s.Op == opReserve || s.Op == opOverrun) && s.D >= 0 {
		c.until = time.Unix(0, w.now()).Add(s.D)
	}
	return c
}

// look asks for nothing.
func (w *world) look(by, k int) weir.Result {
	s := Step{Op: opTake, By: by, Key: k}
	r, err := w.limiter(by).Take(w.ctx(s), key(s), 0)
	if err != nil {
		panic(err)
	}
	return r
}

// play plays all steps, and stops at the first that breaks a rule.
func (w *world) play() *violation {
	for _, s := range w.Steps {
		if v := w.step(s); v != nil {
			return v
		}
	}
	return nil
}

// step plays a step and asks the rules.
func (w *world) step(s Step) *violation {
	a := w.do(s)
	w.answers = append(w.answers, a)
	if a.err != nil && !(s.Ended && errors.Is(a.err, context.Canceled)) {
		return &violation{"no call fails", s.ID, a.err.Error()}
	}
	for _, r := range rules {
		if why := r.broken(w, &a); why != "" && w.suite.counts(r.name) {
			return &violation{r.name, s.ID, why}
		}
	}
	return nil
}
