package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// A sim is a store that can be broken in many ways. Its zero value is not: then it does as MapStore
// in the example.
type sim struct {
	*simStates

	id       func(name, key string) string
	now      func() int64
	between  func()                        // called without the lock between reading and writing
	early    bool                          // reads the time before it waits for the lock
	clears   bool                          // starts anew at any instant older than the last
	live     func(left int64) int64        // for how long a state is kept that lives on for left ns
	most     int                           // how many keys are kept
	keep     func(words []uint64) []uint64 // what is kept of a state
	keepsNew bool                          // keeps as many words as a new state has
	policy   weir.Policy                   // runs this one for all of the same type
	same     func(a, b weir.Policy) bool
	carry    func(to weir.Decider, words []uint64) []uint64
	ask      func(*weir.Ask)
	answer   func(weir.Ask, *weir.Answer)
	partly   bool // grants what is left of an ask that is denied
	debt     bool // lets a denied ask borrow
	loses    int  // one update in so many
	repeats  int
	fails    int
	unit     time.Duration // of its clock, which it rounds down

	forgets  func(s *sim, r weir.Request, id string) error // nil deletes id
	at       func(now int64) int64                         // what it tells of the instant
	keeps    func(ask weir.Ask, a weir.Answer, exact bool) bool
	caches   bool // what it has seen itself
	cached   map[string]simState
	resends  bool // what it got no reply to
	deaf     bool // to the end of a context
	dies     bool // when the backend hangs
	theirs   bool // decides by the limiter's clock
	readsNow bool // although it has a clock of its own
}

// simStates are the backend.
type simStates struct {
	mu    sync.Mutex
	all   map[string]simState
	order []string
	steps int

	clock int64         // its own, if it is set
	lose  int           // how many replies get lost
	hung  chan struct{} // closed when it answers again; nil if it does
	dead  bool
}

type simState struct {
	words   []uint64
	policy  weir.Policy
	decider weir.Decider
	until   int64
	at      int64
	rounded bool // carried over from another policy, and not exactly
}

func (s *sim) ready() *sim {
	s.simStates, s.cached = &simStates{all: map[string]simState{}}, map[string]simState{}
	if s.id == nil {
		s.id = func(name, key string) string { return fmt.Sprintf("%q %q", name, key) }
	}
	if s.same == nil {
		s.same = func(a, b weir.Policy) bool { return reflect.DeepEqual(a, b) }
	}
	return s
}

// second is a store on the same backend.
func (s *sim) second() *sim {
	t := *s
	t.cached = map[string]simState{}
	return &t
}

func (s *sim) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	s.mu.Lock()
	hung := s.hung
	s.dead = s.dead || hung != nil && s.dies
	s.mu.Unlock()
	if hung != nil {
		if s.deaf {
			ctx = context.Background()
		}
		select {
		case <-hung:
		case <-ctx.Done():
			return weir.Answer{}, ctx.Err()
		}
	}
	for {
		a, err := s.step(r)
		s.mu.Lock()
		lost := s.lose > 0
		if lost {
			s.lose--
		}
		s.mu.Unlock()
		switch {
		case !lost:
			return a, err
		case !s.resends:
			return weir.Answer{}, errors.New("no reply")
		}
	}
}

func (s *sim) step(r weir.Request) (weir.Answer, error) {
	read := r.Now
	if s.clock != 0 && !s.theirs {
		read = func() int64 {
			if s.readsNow {
				r.Now()
			}
			return s.clock
		}
	}
	if s.now != nil {
		read = s.now
	}
	now := int64(0)
	if s.early {
		now = read()
		runtime.Gosched()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.early {
		now = read()
	}
	if s.unit > 0 {
		now -= now % int64(s.unit)
	}
	s.steps++
	if s.dead || s.fails > 0 && s.steps%s.fails == 0 {
		return weir.Answer{}, errors.New("no connection")
	}
	if s.ask != nil {
		s.ask(&r.Ask)
	}
	id := s.id(r.Name, r.Key)
	if r.Forget {
		if s.forgets != nil {
			return weir.Answer{}, s.forgets(s, r, id)
		}
		delete(s.all, id)
		return weir.Answer{}, nil
	}
	st := s.read(id, r, now)
	if s.between != nil {
		s.mu.Unlock()
		s.between()
		s.mu.Lock()
	}
	a := s.decide(&st, r, now)
	a.At = now
	if s.at != nil {
		a.At = s.at(now)
	}
	keep := !st.rounded || r.N != 0 && a.Allowed
	a.Rounded = !keep
	if s.keeps != nil {
		keep = s.keeps(r.Ask, a, !st.rounded)
	}
	if keep && (s.loses == 0 || s.steps%s.loses != 0) {
		s.write(id, st)
	}
	if s.answer != nil {
		s.answer(r.Ask, &a)
	}
	return a, nil
}

// read returns the state of id, as the policy of r sees it. It requires that s.mu is held.
func (s *sim) read(id string, r weir.Request, now int64) simState {
	st, ok := s.all[id]
	if s.caches {
		if c, known := s.cached[id]; known {
			st, ok = c, true
		}
	}
	decider := r.Decider
	if s.policy != nil && reflect.TypeOf(s.policy) == reflect.TypeOf(r.Policy) {
		decider, _ = s.policy.Decider()
	}
	words, exact := slices.Clone(st.words), true
	switch {
	case !ok || st.until <= now && st.until != math.MaxInt64 || s.clears && now < st.at:
		words = make([]uint64, decider.Words())
	case s.same(st.policy, r.Policy):
	case s.carry != nil:
		words = s.carry(decider, words)
	default:
		words, exact = weir.Carry(st.decider, decider, words, now)
	}
	return simState{words: words, policy: r.Policy, decider: decider, at: now, rounded: !exact}
}

func (s *sim) decide(st *simState, r weir.Request, now int64) weir.Answer {
	var a weir.Answer
	st.words, a = st.decider.Decide(st.words, now, r.Ask)
	switch {
	case s.repeats > 0 && s.steps%s.repeats == 0:
		st.words, _ = st.decider.Decide(st.words, now, r.Ask)
	case s.partly && !a.Allowed && a.Remaining > 0:
		st.words, _ = st.decider.Decide(st.words, now, weir.Ask{N: a.Remaining})
	case s.debt && !a.Allowed && r.N > 0:
		st.words, _ = st.decider.Decide(st.words, now, weir.Ask{N: 1, MaxWait: time.Hour})
	}
	st.until = st.decider.Expiry(st.words)
	if s.live != nil {
		st.until = now + s.live(st.until-now)
	}
	if s.keepsNew {
		st.words = st.words[:min(st.decider.Words(), len(st.words))]
	}
	if s.keep != nil && len(st.words) > 0 {
		st.words = s.keep(st.words)
	}
	return a
}

// write requires that s.mu is held.
func (s *sim) write(id string, st simState) {
	if _, ok := s.all[id]; !ok {
		s.order = append(s.order, id)
	}
	s.all[id] = st
	if s.caches {
		s.cached[id] = st
	}
	if s.most > 0 && len(s.order) > s.most {
		delete(s.all, s.order[0])
		s.order = s.order[1:]
	}
}

// set changes something of the backend.
func (s *sim) set(f func(*simStates)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.simStates)
}
