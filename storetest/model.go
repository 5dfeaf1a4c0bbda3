package storetest

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/weir-go/weir"
)

// A model is the expected behavior of a store. It runs policies, one step at a time. Its states
// never expire, and are forgotten on request only.
type model struct {
	rules  []weir.Rule
	states map[string]weir.Ledger
}

func (e *env) model(ps ...weir.Policy) *model {
	m := &model{states: map[string]weir.Ledger{}}
	for i, p := range ps {
		d, err := p.Decider()
		if err != nil {
			e.Fatalf("Decider of %#v: %v", p, err)
		}
		m.rules = append(m.rules, weir.Rule{Policy: p, Decider: d, Tag: uint64(i + 1)}) // with a Tag, a Ledger need not compare policies
	}
	return m
}

// doBy makes a step by policy i. It keeps the state as the contract of weir.Store requires.
func (m *model) doBy(i int, key string, now time.Time, ask weir.Ask) weir.Answer {
	next, a, changed, err := m.states[key].Decide(m.rules[i], now.UnixNano(), ask)
	if err != nil {
		panic("storetest: " + err.Error()) // the state was left by a Ledger
	}
	if changed {
		m.states[key] = next
	}
	return a
}

// do makes a step by the first policy.
func (m *model) do(key string, now time.Time, ask weir.Ask) weir.Answer {
	return m.doBy(0, key, now, ask)
}

// look returns the answer to a look by policy i, which changes nothing.
func (m *model) look(i int, key string, now time.Time) weir.Answer {
	return m.doBy(i, key, now, weir.Ask{})
}

// A walk makes the same random requests of a store and of a model, and compares all answers.
type walk struct {
	*env
	rule     string
	limiters []limiter    // one is chosen for each request
	by       []int        // the policies of limiters, in the model; nil if all have the first
	stores   []weir.Store // one is chosen for each request; nil if each limiter has its own
	model    *model
	keys     int
	random   *rand.Rand
	granted  map[string][]grant // the latest grants, which can be given back

	// canAllow is true if Allow is used beside Do. The two are calls of different limiters. It is
	// certain that each limiter reads the states of the other exactly only if the policies can be
	// compared.
	canAllow bool
}

// A grant is a number of events that were granted at an instant, with their charges.
type grant struct {
	n       int
	at      int64
	charges []weir.Charge
}

func (e *env) walk(rule string, p weir.Policy, keys int, ls ...limiter) *walk {
	return &walk{
		env: e, rule: rule, limiters: ls, model: e.model(p), keys: keys,
		random:   rand.New(rand.NewPCG(1, 2)),
		granted:  map[string][]grant{},
		canAllow: reflect.TypeOf(p).Comparable(),
	}
}

func (w *walk) run(steps int) {
	w.Helper()
	for i := range steps {
		key := "key " + strconv.Itoa(w.random.IntN(w.keys))
		l, by := w.choose()
		w.advance(w.pause(w.model.look(by, key, w.clock.Now())))
		if w.random.IntN(50) == 0 {
			w.forget(l, key)
			delete(w.model.states, key)
		}
		now := w.clock.Now()
		ask := w.ask(key, w.model.look(by, key, now))
		if ask == (weir.Ask{N: 1}) && w.canAllow && w.stores == nil && i%2 == 0 {
			want := w.model.doBy(by, key, now, ask)
			if got := l.Allow(key); got != want.Allowed {
				w.Fatalf("%s: %#v, request %d, for %s after %v: Allow returned %v, where Take answers %+v",
					w.rule, l.plan.Policy, i, key, now.Sub(start), got, want.Result)
			}
			continue
		}
		w.compare(l, by, key, ask, i)
	}
}

func (w *walk) compare(l limiter, by int, key string, ask weir.Ask, i int) {
	now := w.clock.Now()
	gotParts, wantParts := []weir.Result{{Limit: -1}}, []weir.Result{{Limit: -1}}
	if w.random.IntN(4) == 0 {
		ask.ByComponent, ask.More = &wantParts, ask.N >= 0 // as TakeByComponent asks
	}
	var wantCharges, charges []weir.Charge
	if ask.N > 0 && w.random.IntN(2) == 0 {
		ask.Charges = &wantCharges
	}
	want := w.model.doBy(by, key, now, ask)
	if ask.ByComponent != nil {
		ask.ByComponent = &gotParts
	}
	if ask.N > 0 && ask.Charges != nil {
		ask.Charges = &charges
	}
	got := w.do(l, key, ask)
	noParts := wantParts[0].Limit < 0 // then their values do not matter
	if w.seen(got, ask) != w.seen(want, ask) || !noParts && !w.sameParts(gotParts, wantParts) {
		w.Helper()
		w.Fatalf("%s: %#v, request %d, for %s after %v, of %+v:\n got %+v %+v\nwant %+v %+v, as the policy decides on the state it left",
			w.rule, l.plan.Policy, i, key, now.Sub(start), ask, got, gotParts, want, wantParts)
	}
	n := ask.N
	if ask.Mode == weir.UpTo {
		n = got.Granted
	}
	if got.Allowed && w.tick == 1 && !slices.Equal(charges, wantCharges) {
		w.Helper()
		w.Fatalf("%s: %#v, request %d, for %s after %v, of %+v: the Charges are\n     %+v\nwant %+v",
			w.rule, l.plan.Policy, i, key, now.Sub(start), ask, charges, wantCharges)
	}
	if got.Allowed && n > 0 {
		if len(charges) == 0 {
			charges = []weir.Charge{{N: n, For: got.ResetAfter}}
		}
		w.granted[key] = append(w.granted[key], grant{n, got.At, charges})
	}
}

// choose returns the limiter to ask, and its policy in the model.
func (w *walk) choose() (limiter, int) {
	i := w.random.IntN(len(w.limiters))
	l, by := w.limiters[i], 0
	if w.by != nil {
		by = w.by[i]
	}
	if w.stores != nil {
		l.store = w.stores[w.random.IntN(len(w.stores))]
	}
	return l, by
}

// pause returns how long to wait before the next request for a key whose last answer is a. The
// instants around the one at which the key has fully recovered are likely.
func (w *walk) pause(a weir.Answer) time.Duration {
	const longest = 30 * 24 * time.Hour // keeps the year 2262 far away
	reset := min(w.up(a.ResetAfter), longest)
	switch w.random.IntN(16) {
	case 0, 1, 2:
		return w.tick
	case 3, 4:
		return w.up(time.Duration(w.random.Int64N(int64(reset/10 + 1))))
	case 5:
		return w.up(time.Duration(w.random.Int64N(int64(reset + 1))))
	case 6:
		return max(reset-w.tick, 0)
	case 7:
		return reset
	case 8:
		return 2 * reset
	default:
		return 0
	}
}

// ask returns the next ask for a key whose last answer is a.
func (w *walk) ask(key string, a weir.Answer) weir.Ask {
	var ask weir.Ask
	few := min(a.Limit, 10)
	switch w.random.IntN(18) {
	case 0:
		return ask
	case 1, 2:
		return w.back(key)
	case 3:
		ask.N = few
	case 4:
		ask.N = few + 1
	case 5:
		ask.N = 1 + w.random.IntN(few)
	case 6:
		ask.N = a.Remaining
		if a.Limit == most { // chain and tally count events one by one
			ask.N = few
		}
	case 7:
		ask.N = math.MaxInt
		if a.Limit == most {
			ask.N = 2 * few
		}
	case 8:
		return weir.Ask{N: 1 + w.random.IntN(few+1), Mode: weir.UpTo}
	case 9:
		return weir.Ask{N: 1 + w.random.IntN(few), Mode: weir.Regardless}
	default:
		ask.N = 1
	}
	switch w.random.IntN(8) {
	case 0:
		ask.MaxWait = weir.Never
	case 1, 2:
		ask.MaxWait = w.up(1 + time.Duration(w.random.Int64N(int64(max(a.ResetAfter, 1)))))
	}
	return ask
}

// back gives back events that were granted for a key: the latest or earlier ones, by instant or
// not. It may also give back more than that.
func (w *walk) back(key string) weir.Ask {
	all := w.granted[key]
	if len(all) == 0 {
		return weir.Ask{N: -1}
	}
	i := len(all) - 1 - w.random.IntN(min(len(all), 3))
	g := all[i]
	if w.random.IntN(8) > 0 {
		w.granted[key] = slices.Delete(all, i, i+1)
	}
	ask := weir.Ask{N: -g.n}
	if w.random.IntN(2) == 0 {
		ask.GrantedAt, ask.Charges = g.at, &g.charges
	}
	return ask
}
