package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
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
	apart    func(weir.Request) any        // what has a lock of its own, beside that of the store
	early    bool                          // reads the time before it waits for the lock
	clears   bool                          // starts anew at any instant older than the last
	live     func(left int64) int64        // for how long a state is kept that lives on for left ns
	liveOnce bool                          // from its first event on, without regard to later ones
	liveBy   bool                          // by what the asking policy counts alone
	tooLong  func() (weir.Answer, error)   // what it says of a state that lives for over a day
	most     int                           // how many keys are kept
	policies int                           // how many may have counted for a key
	keep     func(words []uint64) []uint64 // what is kept of a state
	keepsNew bool                          // keeps as many words as a new state has
	policy   weir.Policy                   // runs this one for all of the same type
	same     func(a, b weir.Policy) bool
	carry    func(to weir.Decider, words []uint64) []uint64
	knows    bool // whose words those are that it wrote itself
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
	twice    bool                                          // reads the time once more to tell it
	wrongly  bool                                          // tells by whose clock it decided
	keeps    func(ask weir.Ask, a weir.Answer) bool
	caches   bool // what it has seen itself
	cached   map[string]simState
	resends  bool                   // what it got no reply to
	resent   func(weir.Ask) bool    // of that, if not nil
	inTurn   func(weir.Request) any // what has one request at a time, while others wait without regard to their contexts
	deaf     bool                   // to the end of a context
	timeout  time.Duration          // of its client, beside that of a context
	dies     bool                   // when the backend hangs
	holds    int                    // how many events it grants while the backend hangs
	theirs   bool                   // decides by the limiter's clock
	readsNow bool                   // although it has a clock of its own

	runs   func(weir.Policy) weir.Policy // in place of each
	denies time.Duration                 // for how long it denies what it has denied, without deciding
	renews bool                          // that time, with each denial
	denied map[string]simDenial
	drops  int // how many events it takes ahead, and loses when time passes
	ahead  map[string]simAhead
	leaks  int // how many events it loses for a key that nobody asked for, for a second
}

// A stranger is a decider of which nothing is known.
type stranger struct{ weir.Decider }

func (s *sim) ready() *sim {
	s.simStates = &simStates{all: map[string]simState{}}
	s.forItself()
	if s.id == nil {
		s.id = func(name, key string) string { return strconv.Itoa(len(name)) + ":" + name + key }
	}
	if s.same == nil {
		s.same = func(a, b weir.Policy) bool { return reflect.DeepEqual(a, b) }
	}
	return s
}

// second is a store on the same backend.
func (s *sim) second() *sim {
	t := *s
	t.forItself()
	return &t
}

// forItself makes what s does not share with others on the same backend.
func (s *sim) forItself() {
	s.cached, s.denied, s.ahead = map[string]simState{}, map[string]simDenial{}, map[string]simAhead{}
}

func (s *sim) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if err := refused(ctx); err != nil {
		return weir.Answer{}, err
	}
	if s.inTurn != nil {
		defer s.turn(s.inTurn(r))()
	}
	if a, ok, err := s.hang(ctx, r); ok || err != nil {
		return a, err
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
		case !s.resends || s.resent != nil && !s.resent(r.Ask):
			return weir.Answer{}, errors.New("no reply")
		}
	}
}

func (s *sim) step(r weir.Request) (weir.Answer, error) {
	if s.apart != nil {
		defer s.turn(s.apart(r))()
	}
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
		yields()
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
	if a, ok := s.alone(id, r, now); ok {
		return a, nil
	}
	st := s.read(id, now)
	if s.between != nil {
		s.mu.Unlock()
		s.between()
		s.mu.Lock()
	}
	a, keep, err := s.decide(&st, r, now)
	if err != nil {
		return weir.Answer{}, err
	}
	a.At, a.ServerTime = now, s.own != s.wrongly
	if s.twice {
		a.At = read()
	}
	if s.at != nil {
		a.At = s.at(now)
	}
	if s.keeps != nil {
		keep = s.keeps(r.Ask, a)
	}
	if keep && (s.loses == 0 || s.steps%s.loses != 0) {
		s.write(id, st)
	}
	if s.answer != nil {
		s.answer(r.Ask, &a)
	}
	if r.N > 0 && !a.Allowed && s.denies > 0 {
		s.denied[id] = simDenial{r.N, now + int64(s.denies)}
	} else if r.N != 0 {
		delete(s.denied, id)
	}
	return a, nil
}

// rule is by what to decide for r on a state.
func (s *sim) rule(st *simState, r weir.Request) weir.Rule {
	rule := weir.Rule{Policy: r.Policy, Decider: r.Decider}
	if s.runs != nil {
		rule.Decider, _ = s.runs(r.Policy).Decider()
	}
	if s.policy != nil && reflect.TypeOf(s.policy) == reflect.TypeOf(r.Policy) {
		rule.Decider, _ = s.policy.Decider()
	}
	if len(st.By) == 0 || s.same(st.By[0].Policy, r.Policy) {
		return rule
	}
	switch {
	case s.carry != nil && !(s.knows && s.wrote(r)):
		st.Ledger = weir.Ledger{By: []weir.Rule{rule}, Plain: true, Words: s.carry(rule.Decider, st.Words)}
	case reflect.DeepEqual(st.By[0].Policy, r.Policy):
		rule = weir.Rule{Decider: stranger{rule.Decider}}
	}
	return rule
}

func (s *sim) decide(st *simState, r weir.Request, now int64) (weir.Answer, bool, error) {
	rule := s.rule(st, r)
	if s.leaks > 0 && r.N > 0 && now-st.last > int64(time.Second) {
		st.Ledger, _, _, _ = st.Decide(rule, now, weir.Ask{N: s.leaks, Mode: weir.UpTo})
	}
	st.last = now
	until := st.until
	next, a, changed, err := st.Decide(rule, now, r.Ask)
	if err != nil {
		return a, false, err
	}
	more := func(ask weir.Ask) {
		next, _, _, _ = next.Decide(rule, now, ask)
		changed = true
	}
	if s.drops > 0 && r.N > 0 && a.Allowed {
		before := next
		var extra weir.Answer
		if next, extra, _, _ = next.Decide(rule, now, weir.Ask{N: s.drops, Mode: weir.UpTo}); !extra.Allowed {
			next = before
		}
		s.ahead[s.id(r.Name, r.Key)] = simAhead{extra.Granted, now}
	}
	switch {
	case s.repeats > 0 && s.steps%s.repeats == 0:
		more(r.Ask)
	case s.partly && !a.Allowed && a.Remaining > 0:
		more(weir.Ask{N: a.Remaining})
	case s.debt && !a.Allowed && r.N > 0:
		more(weir.Ask{N: 1, MaxWait: time.Hour})
	}
	st.Ledger = next
	s.age(st, until, rule, r, now)
	if s.tooLong != nil && st.until-now > int64(24*time.Hour) {
		a, err := s.tooLong()
		return a, false, err
	}
	if s.keepsNew && st.Plain {
		st.Words = st.Words[:min(rule.Decider.Words(), len(st.Words))]
	}
	if s.keep != nil && len(st.Words) > 0 {
		st.Words = s.keep(slices.Clone(st.Words))
	}
	if s.policies > 0 && len(next.By) > s.policies {
		return a, false, nil
	}
	return a, changed || s.keep != nil, nil
}
