package change

import (
	"fmt"
	"math/rand/v2"

	"github.com/weir-go/weir"
)

// A twin is the trial on another store, without the rules, up to a step.
func (s *Suite) twin(t *Trial, upTo int) *world {
	w := newWorld(t, s, &hand{t.Start})
	for _, step := range t.Steps {
		w.do(step)
		if step.ID == upTo {
			break
		}
	}
	return w
}

// chosen tells whether the twins of a step are asked. It does not depend on other steps, so that
// shrinking keeps it.
func (t *Trial) chosen(s Step, oneIn uint64) bool {
	return (t.Seed*0x9e3779b97f4a7c15+uint64(s.ID)*0xbf58476d1ce4e5b9)>>7%oneIn == 0
}

// askTwins asks the twins of some answers.
func (s *Suite) askTwins(t *Trial, answers []answer) *violation {
	oneIn := uint64(len(t.Steps))/2 + 1
	for i := range answers {
		a := &answers[i]
		if a.err != nil || a.skipped || !t.chosen(a.Step, oneIn) {
			continue
		}
		for _, r := range []struct {
			name   string
			broken func(*Suite, *Trial, *answer) string
		}{
			{"R5 Remaining", r5Remaining},
			{"R4 RetryAfter is tight", r4RetryAfter},
			{"R6 ResetAfter", r6ResetAfter},
		} {
			if why := r.broken(s, t, a); why != "" {
				return &violation{r.name, a.ID, why}
			}
		}
	}
	if v := s.sprinkled(t, answers); v != nil {
		return v
	}
	return nil
}

func (w *world) take(a *answer, n int) weir.Result {
	step := a.Step
	step.Op, step.Ended = opTake, false
	r, err := w.limiter(a.By).Take(w.ctx(step), key(step), n)
	if err != nil {
		panic(err)
	}
	return r
}

// Remaining = k means that k events would pass now, and k+1 would not.
func r5Remaining(s *Suite, t *Trial, a *answer) string {
	if a.Op != opTake && a.Op != opUpTo && a.Op != opReserve {
		return ""
	}
	k := a.result.Remaining
	if k > 0 && !s.twin(t, a.ID).take(a, k).Allowed {
		return fmt.Sprintf("Remaining is %d, and an ask for so many is denied", k)
	}
	if r := s.twin(t, a.ID).take(a, k+1); r.Allowed {
		return fmt.Sprintf("Remaining is %d, and an ask for one more is granted", k)
	}
	return ""
}

// R3: RetryAfter is Never if so many never fit, and then alone. R4: it is tight: with no other
// traffic, the same ask is denied before, and granted then.
func r4RetryAfter(s *Suite, t *Trial, a *answer) string {
	retry := a.result.RetryAfter
	if a.Op != opTake || a.granted > 0 || a.N == 0 || a.result.Allowed || a.at == 0 {
		return ""
	}
	switch {
	case retry <= 0:
		return fmt.Sprintf("denied with a RetryAfter of %v", retry)
	case (a.N > a.result.Limit) != (retry == weir.Never):
		return fmt.Sprintf("%d of at most %d at once are denied with a RetryAfter of %v", a.N, a.result.Limit, retry)
	case retry > maxRetry:
		return ""
	}
	w := s.twin(t, a.ID)
	if w.clock.ns += s.up(retry) - s.grain(); retry > 1 && w.take(a, a.N).Allowed {
		return fmt.Sprintf("RetryAfter is %v, and granted 1 ns before", retry)
	}
	w = s.twin(t, a.ID)
	if w.clock.ns += s.up(retry); !w.take(a, a.N).Allowed {
		return fmt.Sprintf("RetryAfter is %v, and denied then", retry)
	}
	return ""
}

// After ResetAfter the key, left alone, answers as a new one.
func r6ResetAfter(s *Suite, t *Trial, a *answer) string {
	reset := a.result.ResetAfter
	if a.Op != opTake && a.Op != opUpTo && a.Op != opReserve || reset > maxRetry || a.at == 0 {
		return ""
	}
	w := s.twin(t, a.ID)
	w.clock.ns += s.up(reset)
	look := w.look(a.By, a.Key)
	step := a.Step
	step.Ended = false
	fresh, err := w.limiter(a.By).Take(w.ctx(step), "fresh", 0)
	if err == nil && (look.Remaining != fresh.Remaining || look.ResetAfter != 0) {
		return fmt.Sprintf("ResetAfter was %v, and then %d of %d remain, reset after %v", reset, look.Remaining, fresh.Remaining, look.ResetAfter)
	}
	return ""
}

// Denied asks and looks change nothing, whichever policy they come by. While the clock moves they
// come at the instant and by the policy of another ask: when a policy asks first may tell until
// when it is charged.
func (s *Suite) sprinkled(t *Trial, answers []answer) *violation {
	if t.Seed%2 == 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(t.Seed, 14))
	more := *t
	more.Steps = nil
	frozen, noise := t.frozen(), 1000
	for _, a := range answers {
		ask := a.asked > 0 && a.err == nil && (a.Op == opTake || a.Op == opUpTo)
		extra := Step{Op: opTake, By: a.By, Key: a.Key}
		if frozen {
			extra.By = r.IntN(len(t.Policies))
		}
		extra.N = pick(r, 0, plenty)
		if (frozen || ask) && r.IntN(2) == 0 {
			noise++
			extra.ID = noise
			more.Steps = append(more.Steps, extra)
		}
		more.Steps = append(more.Steps, a.Step)
		if ask && a.Op == opTake && a.granted == 0 && r.IntN(2) == 0 {
			noise++
			again := a.Step
			again.ID = noise
			more.Steps = append(more.Steps, again)
		}
	}
	w := newWorld(&more, s, &hand{t.Start})
	i := 0
	for _, step := range more.Steps {
		retry := w.retry
		b := w.do(step)
		if step.ID > 1000 {
			w.retry = retry
			continue
		}
		a := answers[i]
		i++
		if a.granted != b.granted || a.delay != b.delay || a.result != b.result {
			return &violation{
				"R14 denied asks and looks change nothing", a.ID,
				fmt.Sprintf("it got %s, %+v; with denied asks and looks between, %s, %+v\n%s", a, a.result, b, b.result, more.script(nil)),
			}
		}
	}
	return nil
}
