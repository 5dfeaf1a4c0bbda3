package fleet

import (
	"context"
	"math"

	"github.com/weir-go/weir"
)

// Do implements [weir.Store].
func (s *Shares) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if s.store == nil {
		return weir.Answer{}, errNotShares
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r.Forget {
		return s.store.Do(ctx, r)
	}
	sh := s.share(r.Plan)
	r.MaxWait = 0
	weight := sh.weight
	switch {
	case r.N < 0, weight == 0 && r.N > 0 && r.Mode == weir.Regardless:
		weight = sh.back
	case weight == 0:
		return sh.none(r), nil
	}
	a, err := s.ask(ctx, r, weight)
	if err != nil {
		return weir.Answer{}, err
	}
	if !a.Allowed && a.RetryAfter == weir.Never && sh.willFit(r.Ask, a.Limit) {
		a.RetryAfter = sh.growsIn
	}
	scale(&a, r, sh.weight)
	return a, nil
}

// ask asks the store for the events of r, each of which counts weight times.
func (s *Shares) ask(ctx context.Context, r weir.Request, weight int) (weir.Answer, error) {
	switch {
	case weight > 1 && r.N > 0 && r.Mode == weir.UpTo:
		return s.askUpTo(ctx, r, weight)
	case r.N > math.MaxInt/weight && r.Mode == weir.AllOrNone:
		return s.askTooMany(ctx, r)
	}
	r.N = times(r.N, weight)
	return s.store.Do(ctx, r)
}

// askTooMany denies more events than any share has. The store is asked for none of them, because a
// policy might grant the number that [times] returns for them.
func (s *Shares) askTooMany(ctx context.Context, r weir.Request) (weir.Answer, error) {
	r.N = 0
	a, err := s.store.Do(ctx, r)
	eachResult(&a, r, func(result *weir.Result) { result.Allowed, result.RetryAfter = false, weir.Never })
	return a, err
}

// askUpTo asks for as many events as there are. The store would also grant a part of an event.
// Therefore it is asked how many there are, and then for all or none of them.
func (s *Shares) askUpTo(ctx context.Context, r weir.Request, weight int) (weir.Answer, error) {
	a, err := s.store.Do(ctx, weir.Request{Plan: r.Plan, Key: r.Key})
	n := min(r.N, a.Remaining/weight)
	r.Mode = weir.AllOrNone
	for tries := 8; err == nil; tries-- {
		if n < 1 || tries == 0 { // each time, others take what there is
			n = 1
		}
		r.N = times(n, weight)
		a, err = s.store.Do(ctx, r)
		switch {
		case err != nil:
		case a.Allowed:
			a.Granted = n
			return a, nil
		case n == 1:
			return a, nil
		}
		n = min(n-1, a.Remaining/weight)
	}
	return weir.Answer{}, err
}

// times is n*weight, or the largest int of that sign.
func times(n, weight int) int {
	switch most := math.MaxInt / weight; {
	case n > most:
		return math.MaxInt
	case n < -most:
		return -math.MaxInt
	}
	return n * weight
}

// scale converts an answer of the store. Each event of this process counts as weight events there.
// A weight of 0 means that this process has no share.
func scale(a *weir.Answer, r weir.Request, weight int) {
	eachResult(a, r, func(result *weir.Result) {
		if weight == 0 {
			result.Limit, result.Remaining, result.MoreAfter = 0, 0, 0
			return
		}
		// The store says when one more of its events remains. An event here needs weight of them.
		// The time is right only if the others remain already, or come back at the same time.
		if result.Remaining%weight != weight-1 && result.MoreAfter != result.ResetAfter {
			result.MoreAfter = 0
		}
		result.Limit /= weight
		result.Remaining /= weight
		if result.Remaining == result.Limit {
			result.MoreAfter = 0
		}
	})
}

// none is the answer of a process without a share. It denies as a used-up key does, but knows when
// the share will count.
func (sh share) none(r weir.Request) weir.Answer {
	now := r.Now()
	r.Charges = nil
	_, a := r.Decider.Decide(usedUp(r.Decider, now, 1), now, r.Ask)
	if r.N > 0 {
		if a.Allowed { // by a policy that has no limit
			a.RetryAfter = weir.Never
		}
		if sh.willFit(r.Ask, a.Limit) {
			a.RetryAfter = sh.growsIn
		}
		a.Allowed, a.Granted = false, 0
	}
	a.At = now
	scale(&a, r, 0)
	return a
}
