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

// A model is what a store must look like from outside: it runs one policy, one step at a time, and
// never forgets.
type model struct {
	decider weir.Decider
	states  map[string][]uint64
}

func (e *env) model(p weir.Policy) *model {
	d, err := p.Decider()
	if err != nil {
		e.Fatalf("Decider of %#v: %v", p, err)
	}
	return &model{d, map[string][]uint64{}}
}

func (m *model) do(key string, now time.Time, ask weir.Ask) weir.Answer {
	state, known := m.states[key]
	if !known {
		state = make([]uint64, m.decider.Words())
	}
	next, a := m.decider.Decide(slices.Clone(state), now.UnixNano(), ask)
	m.states[key] = next
	return a
}

// A walk makes random requests of a store and of a model, and compares all that they answer.
type walk struct {
	*env
	rule     string
	limiters []limiter // one is chosen for each request
	model    *model
	keys     int
	random   *rand.Rand
	granted  map[string]int // what was granted last, and can be given back

	// canAllow tells whether to use Allow beside Do. They come from two limiters, the states of
	// which are known to be exchanged exactly only if the policies can be compared.
	canAllow bool
}

func (e *env) walk(rule string, p weir.Policy, keys int, ls ...limiter) *walk {
	return &walk{
		env: e, rule: rule, limiters: ls, model: e.model(p), keys: keys,
		random:   rand.New(rand.NewPCG(1, 2)),
		granted:  map[string]int{},
		canAllow: reflect.TypeOf(p).Comparable(),
	}
}

func (w *walk) run(steps int) {
	w.Helper()
	for i := range steps {
		key := "key " + strconv.Itoa(w.random.IntN(w.keys))
		w.advance(w.pause(w.model.do(key, w.clock.Now(), weir.Ask{})))
		ask := w.ask(key, w.model.do(key, w.clock.Now(), weir.Ask{}))

		want := w.model.do(key, w.clock.Now(), ask)
		if want.Allowed {
			w.granted[key] = max(ask.N, 0)
		}
		l := w.limiters[w.random.IntN(len(w.limiters))]
		if ask == (weir.Ask{N: 1}) && w.canAllow && i%2 == 0 {
			if got := l.Allow(key); got != want.Allowed {
				w.Fatalf("%s: %#v, request %d, for %s after %v: Allow returned %v, where Take answers %+v",
					w.rule, l.scope.Policy, i, key, w.clock.Now().Sub(start), got, want.Result)
			}
			continue
		}
		got := w.do(l, key, ask)
		if w.seen(got, ask) != w.seen(want, ask) {
			w.Fatalf("%s: %#v, request %d, for %s after %v, of %+v:\n got %+v\nwant %+v, as the policy decides on the state it left",
				w.rule, l.scope.Policy, i, key, w.clock.Now().Sub(start), ask, got, want)
		}
	}
}

// pause is how long to let pass before the next request for a key that looks like a. The instants
// around the one at which it is as new are likely.
func (w *walk) pause(a weir.Answer) time.Duration {
	const longest = 30 * 24 * time.Hour // so that the year 2262 stays far away
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

// ask is what to ask next for a key that looks like a.
func (w *walk) ask(key string, a weir.Answer) weir.Ask {
	var ask weir.Ask
	few := min(a.Limit, 10)
	switch w.random.IntN(16) {
	case 0:
		return ask
	case 1, 2:
		ask.N = -w.granted[key]
		w.granted[key] = 0
		return ask
	case 3:
		ask.N = few
	case 4:
		ask.N = few + 1
	case 5:
		ask.N = 1 + w.random.IntN(few)
	case 6:
		ask.N = a.Remaining
		if a.Limit == most { // chain and tally count one by one
			ask.N = few
		}
	case 7:
		ask.N = math.MaxInt
		if a.Limit == most {
			ask.N = 2 * few
		}
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
