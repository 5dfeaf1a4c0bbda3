package oracle

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// part is any of the five policies, and its course.
func (tp *tape) part() (weir.Policy, course) {
	limit, per := tp.rate()
	width := int64(per)
	var p weir.Policy
	switch tp.byte() % 6 {
	case 0, 1:
		size := max(tp.size(limit), 0) // twice the limit can be too large for 32 bits
		p, limit = weir.TokenBucket{Limit: limit, Per: per, Burst: size}, or(size, limit)
	case 2:
		size := max(tp.size(limit), 0) // twice the limit can be too large for 32 bits
		p, limit = weir.LeakyBucket{Limit: limit, Per: per, Capacity: size}, or(size, limit)
	case 3:
		p = weir.FixedWindow{Limit: limit, Per: per, FromFirst: tp.byte()%2 == 1}
	case 4:
		k := time.Duration(pick(tp, 1, 1, 2, 3, 10, 40))
		per = min(max(per/k, 1), math.MaxInt64/k) * k
		p, width = weir.SlidingWindow{Limit: limit, Per: per, Buckets: int(k)}, int64(per/k)
	default:
		p = weir.SlidingLog{Limit: limit, Per: per}
	}
	return p, course{tape: tp, limit: limit, width: width, event: max(int64(per)/int64(limit), 1)}
}

// parts are one to five of them. The same one may come twice.
func (tp *tape) parts() ([]weir.Policy, []course) {
	var ps []weir.Policy
	var cs []course
	for range 1 + tp.byte()%5 {
		p, c := tp.part()
		if len(ps) > 0 && tp.byte()%6 == 0 {
			p, c = ps[0], cs[0]
		}
		ps, cs = append(ps, p), append(cs, c)
	}
	return ps, cs
}

func FuzzAll(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		tp := &tape{bytes}
		ps, cs := tp.parts()
		newComposedTrial(t, weir.All(ps...), newAllModel(modelOf, ps...), true).run(tp, cs)
	})
}

func FuzzTiers(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		tp := &tape{bytes}
		ps, cs := tp.parts()
		newComposedTrial(t, weir.Tiers(ps...), newTiersModel(modelOf, ps...), true).run(tp, cs)
	})
}

// FuzzComposedStates asks all that can be asked of compositions in compositions, with policies of
// other packages among them, whose states grow and shrink: what a part does when it is asked alone,
// it does as a part.
func FuzzComposedStates(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		tp := &tape{bytes}
		p, m, cs := tp.composition(2)
		x := newComposedTrial(t, p, m, false)
		x.run(tp, cs)
	})
}

func (tp *tape) composition(depth int) (weir.Policy, model, []course) {
	var ps []weir.Policy
	var ms []model
	var cs []course
	for range 1 + tp.byte()%4 {
		var p weir.Policy
		var m model
		var c []course
		switch kind := tp.byte() % 8; {
		case kind < 2 && depth > 1:
			p, m, c = tp.composition(depth - 1)
		case kind == 2:
			l := stack{Limit: 1 + int(tp.byte()%20), Per: time.Duration(tp.any(int64(time.Hour)))}
			p, m, c = l, newStateModel(l, nil), []course{{tape: tp, limit: l.Limit, width: int64(l.Per), event: int64(l.Per)}}
		case kind == 3:
			w := weir.CalendarWindow{Limit: pick(tp, 5, 100, math.MaxInt), Unit: pick(tp, weir.Hour, weir.Month)}
			p, m, c = w, newStateModel(w, newCalendarModel(w)), []course{{tape: tp, limit: w.Limit, width: int64(time.Hour), event: int64(time.Minute)}}
		default:
			part, one := tp.part()
			p, m, c = part, newStateModel(part, modelOf(part)), []course{one}
		}
		ps, ms, cs = append(ps, p), append(ms, m), append(cs, c...)
	}
	if tp.byte()%2 == 0 {
		return weir.All(ps...), allModel{ms}, cs
	}
	return weir.Tiers(ps...), tiersModel{ms}, cs
}

// A stack is a policy of another package, which keeps the instants of its events, and starts
// without a word.
type stack struct {
	Limit int
	Per   time.Duration
}

func (p stack) Decider() (weir.Decider, error) { return p, nil }
func (p stack) Words() int                     { return 0 }

func (p stack) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	at, kept := uint64(now), state
	if len(state) > 0 {
		at = max(at, state[len(state)-1])
	}
	for len(kept) > 0 && kept[0]+uint64(p.Per) <= at {
		kept = kept[1:]
	}
	room := max(p.Limit-len(kept), 0)
	r := weir.Answer{Result: weir.Result{Allowed: true, Limit: p.Limit}}
	n := ask.N
	switch {
	case n < 0:
		kept = kept[:max(len(kept)+max(n, -1000), 0)]
		state = kept
	case ask.Mode == weir.UpTo && n > 0:
		n = max(min(n, room), 1)
		r.Granted = min(n, room)
	case ask.Mode == weir.Regardless:
		n = min(n, 2*p.Limit)
	}
	switch {
	case n > p.Limit && ask.Mode == weir.AllOrNone:
		r.Allowed, r.RetryAfter = false, weir.Never
	case n > room && ask.Mode != weir.Regardless:
		r.Allowed, r.RetryAfter = false, time.Duration(kept[len(kept)+n-p.Limit-1]+uint64(p.Per)-at)
	case n > 0:
		for range n {
			kept = append(kept, at)
		}
		state = kept
	}
	r.Remaining = max(p.Limit-len(kept), 0)
	if len(kept) > 0 {
		r.ResetAfter = time.Duration(kept[len(kept)-1] + uint64(p.Per) - at)
	}
	return state, r
}

func (p stack) Expiry(state []uint64) int64 {
	if len(state) == 0 {
		return 0
	}
	return int64(min(state[len(state)-1]+uint64(p.Per), math.MaxInt64))
}

// seeds adds courses of their own.
func seeds(f *testing.F) {
	for seed := range runs.Long[byte](100, 20) {
		bytes := make([]byte, 1000)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(bytes)
		f.Add(bytes)
	}
}
