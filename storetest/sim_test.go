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
	"testing"
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
}

type simStates struct {
	mu    sync.Mutex
	all   map[string]simState
	order []string
	steps int
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
	s.simStates = &simStates{all: map[string]simState{}}
	if s.id == nil {
		s.id = func(name, key string) string { return fmt.Sprintf("%q %q", name, key) }
	}
	if s.same == nil {
		s.same = func(a, b weir.Policy) bool { return reflect.DeepEqual(a, b) }
	}
	return s
}

func (s *sim) Do(_ context.Context, r weir.Request) (weir.Answer, error) {
	read := r.Now
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
	if s.fails > 0 && s.steps%s.fails == 0 {
		return weir.Answer{}, errors.New("no connection")
	}
	if s.ask != nil {
		s.ask(&r.Ask)
	}
	id := s.id(r.Name, r.Key)
	if r.Forget {
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
	if (s.loses == 0 || s.steps%s.loses != 0) && (!st.rounded || r.N != 0 && a.Allowed) {
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
	case s.debt && !a.Allowed:
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
	if s.most > 0 && len(s.order) > s.most {
		delete(s.all, s.order[0])
		s.order = s.order[1:]
	}
}

// A recorder is a testing.TB that can fail without failing anything else.
type recorder struct {
	testing.TB // nil: what is not here must not be called

	mu       sync.Mutex
	failure  string // the first
	cleanups []func()
}

func (r *recorder) Helper()             {}
func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == "" {
		r.failure = fmt.Sprintf(format, args...)
	}
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// sub runs f in a goroutine, which a failure or a panic ends, unless there was a failure before.
func (r *recorder) sub(_ testing.TB, _ string, f func(testing.TB)) {
	if r.failure != "" {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		f(r)
	}()
	<-done
}

// impatient is how long the cases wait in vain that are meant to fail.
const impatient = 300 * time.Millisecond

// runAlone runs one case and returns its first failure.
func runAlone(t *testing.T, name string, patience time.Duration, newStore func() weir.Store) string {
	t.Helper()
	r := &recorder{}
	s := &suite{newStore: func(testing.TB) weir.Store { return newStore() }, sub: r.sub, tick: 1, patience: patience}
	i := slices.IndexFunc(testCases(), func(c testCase) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("there is no case %q", name)
	}
	s.runCase(r, testCases()[i])
	for _, f := range r.cleanups {
		f()
	}
	return r.failure
}
