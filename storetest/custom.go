package storetest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// custom are policies that no store can know. Each has one awkward feature that the contract of
// weir.Decider allows. The unscripted policies of package weir are added.
func custom(per time.Duration) []named {
	return append(unscripted(10, per), []named{
		{"three words", chain{Per: per}},
		{"one word, never forgotten", tally{}},
		{"no word at first", ledger{Limit: 10, Per: per}},
		{"composed", composed(per)},
		{"CalendarWindow in two words", weir.CalendarWindow{Limit: most + 1, Unit: weir.Month, Start: 15}},
	}...)
}

// composed returns a policy of three words, composed of two policies.
func composed(per time.Duration) all {
	return all{
		weir.TokenBucket{Limit: 7, Per: per, Burst: 10}, // two words
		weir.FixedWindow{Limit: 20, Per: 5 * per},       // one
	}
}

// most is the Limit that chain and tally report. They allow everything.
const most = 1 << 30

// mix maps words one to one. A lost bit changes all later words.
func mix(x uint64) uint64 {
	x = (x ^ x>>31) * 0x9e3779b97f4a7c15
	return x ^ x>>29 + 1
}

// upTo returns how many events a policy grants that allows everything.
func upTo(ask weir.Ask) int {
	if ask.Mode != weir.UpTo {
		return 0
	}
	return ask.N
}

// A chain has three words, all of whose bits matter. Each event moves them on in a fixed sequence,
// which Remaining reports. A lost, repeated or truncated write always shows. Concurrent events lead
// to one state, in any order. The state expires when Per has passed since the last event.
type chain struct{ Per time.Duration }

func (p chain) Decider() (weir.Decider, error) { return p, nil }

func (p chain) Words() int { return 3 }

func (p chain) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	last, a, b := state[0], state[1], state[2]
	at := max(uint64(now), last)
	if at >= last+uint64(p.Per) {
		last, a, b = 0, 0, 0
	}
	for range ask.N {
		last, a = at, mix(a+1)
		b = mix(b ^ a)
	}
	if ask.N > 0 {
		state[0], state[1], state[2] = last, a, b
	}
	r := weir.Result{Allowed: true, Limit: most, Remaining: int(mix(a^b) % most)}
	if b != 0 {
		r.ResetAfter = time.Duration(last + uint64(p.Per) - at)
	}
	return state, weir.Answer{Result: r, Granted: upTo(ask)}
}

func (p chain) Expiry(state []uint64) int64 {
	if state[2] == 0 {
		return 0
	}
	return int64(state[0] + uint64(p.Per))
}

// A dial is a chain, but Remaining reports the instant of the decision.
type dial struct{ chain }

func (p dial) Decider() (weir.Decider, error) { return p, nil }

func (p dial) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	state, a := p.chain.Decide(state, now, ask)
	a.Remaining = int(now % most)
	return state, a
}

// A tally is a chain in a single word. It uses the largest values that a word may have, and never
// expires.
type tally struct{}

func (tally) Decider() (weir.Decider, error) { return tally{}, nil }

func (tally) Words() int { return 1 }

func (tally) DecideWord(state uint64, _ int64, ask weir.Ask) (uint64, weir.Answer) {
	for range ask.N {
		switch state {
		case 0:
			state = math.MaxUint64 - 1
		default:
			state = mix(state)
		}
		if state == 0 || state == math.MaxUint64 {
			state = 1
		}
	}
	r := weir.Result{Allowed: true, Limit: most, Remaining: int(mix(state) % most)}
	if state != 0 {
		r.ResetAfter = math.MaxInt64
	}
	return state, weir.Answer{Result: r, Granted: upTo(ask)}
}

func (t tally) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	next, a := t.DecideWord(state[0], now, ask)
	state[0] = next
	return state, a
}

func (tally) Expiry(state []uint64) int64 {
	if state[0] == 0 {
		return 0
	}
	return math.MaxInt64
}

// A ledger keeps an instant for each event of the last Per. Its states start with no words, grow by
// one word an event, and shrink at either end.
type ledger struct {
	Limit int
	Per   time.Duration
}

func (p ledger) Decider() (weir.Decider, error) { return p, nil }

func (p ledger) Words() int { return 0 }

func (p ledger) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	at, kept := uint64(now), state
	if len(state) > 0 {
		at = max(at, state[len(state)-1])
	}
	for len(kept) > 0 && kept[0]+uint64(p.Per) <= at {
		kept = kept[1:]
	}
	granted := 0
	if ask.Mode == weir.UpTo {
		granted = min(ask.N, max(p.Limit-len(kept), 0))
		ask.N = max(granted, min(ask.N, 1))
	}
	r := weir.Result{Allowed: ask.N <= max(p.Limit-len(kept), 0) || ask.Mode == weir.Regardless, Limit: p.Limit}
	switch {
	case r.Allowed:
	case ask.N > p.Limit:
		r.RetryAfter = weir.Never
	default:
		r.RetryAfter = time.Duration(kept[len(kept)+ask.N-p.Limit-1] + uint64(p.Per) - at)
	}
	switch {
	case !r.Allowed:
	case ask.N < 0:
		kept = kept[:max(len(kept)+ask.N, 0)]
		state = kept
	case ask.N > 0:
		for range ask.N {
			kept = append(kept, at)
		}
		state = kept
	}
	r.Remaining = max(p.Limit-len(kept), 0)
	if len(kept) > 0 {
		r.ResetAfter = time.Duration(kept[len(kept)-1] + uint64(p.Per) - at)
	}
	return state, weir.Answer{Result: r, Granted: granted}
}

func (p ledger) Expiry(state []uint64) int64 {
	if len(state) == 0 {
		return 0
	}
	return int64(state[len(state)-1] + uint64(p.Per))
}

// all grants the events that each of several policies of fixed size grants. It is a slice, and
// can't be compared with ==.
type all []weir.Policy

func (p all) Decider() (weir.Decider, error) {
	var ds allDeciders
	for i, part := range p {
		d, err := part.Decider()
		if err != nil {
			return nil, fmt.Errorf("policy %d: %w", i, err)
		}
		ds = append(ds, d)
	}
	return ds, nil
}

type allDeciders []weir.Decider

func (ds allDeciders) Words() int {
	n := 0
	for _, d := range ds {
		n += d.Words()
	}
	return n
}

func (ds allDeciders) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	granted := 0
	if ask.Mode == weir.UpTo {
		_, look := ds.decide(state, now, weir.Ask{})
		granted = min(ask.N, look.Remaining)
		ask = weir.Ask{N: max(granted, min(ask.N, 1))}
	}
	next, a := ds.decide(state, now, weir.Ask{N: ask.N, Mode: ask.Mode, GrantedAt: ask.GrantedAt})
	if a.Allowed {
		a.Granted = granted
		return append(state[:0], next...), a
	}
	wait := a.RetryAfter
	_, a = ds.decide(state, now, weir.Ask{})
	a.Allowed, a.RetryAfter = false, wait
	return state, a
}

// decide asks all deciders on a copy of state.
func (ds allDeciders) decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	next := slices.Clone(state)
	sum := weir.Answer{Result: weir.Result{Allowed: true, Limit: math.MaxInt, Remaining: math.MaxInt}}
	rest := next
	for _, d := range ds {
		_, a := d.Decide(rest[:d.Words()], now, ask)
		rest = rest[d.Words():]
		sum.Allowed = sum.Allowed && a.Allowed
		sum.Limit = min(sum.Limit, a.Limit)
		sum.Remaining = min(sum.Remaining, a.Remaining)
		sum.RetryAfter = max(sum.RetryAfter, a.RetryAfter)
		sum.ResetAfter = max(sum.ResetAfter, a.ResetAfter)
	}
	return next, sum
}

func (ds allDeciders) Expiry(state []uint64) int64 {
	var last int64
	for _, d := range ds {
		last = max(last, d.Expiry(state[:d.Words()]))
		state = state[d.Words():]
	}
	return last
}
