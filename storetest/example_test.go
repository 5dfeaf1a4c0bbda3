package storetest_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/storetest"
)

// A MapStore is all that a [weir.Store] must be: a map of states, and a lock that makes one step
// of each request.
type MapStore struct {
	mu     sync.Mutex
	states map[stateID]state
}

// A stateID is two fields, and not name and key joined: "a" and "b:c" are not "a:b" and "c".
type stateID struct{ name, key string }

// A state is the words, and the policy that left them.
type state struct {
	words   []uint64
	policy  weir.Policy
	decider weir.Decider
}

// Do implements [weir.Store]. It never blocks for long, and so needs no ctx.
func (m *MapStore) Do(_ context.Context, r weir.Request) (weir.Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.states == nil {
		m.states = make(map[stateID]state)
	}
	now := r.Now() // under the lock: of two steps, the later one does not have the older time
	m.forgetSome(now)

	id := stateID{r.Name, r.Key}
	if r.Forget {
		delete(m.states, id)
		return weir.Answer{}, nil
	}
	s, ok := m.states[id]
	exact := true
	switch {
	case !ok:
		id = stateID{strings.Clone(r.Name), strings.Clone(r.Key)} // they are valid during Do only
		s.words = make([]uint64, r.Decider.Words())
	case !reflect.DeepEqual(s.policy, r.Policy): // not !=, which panics for policies that hold slices
		s.words, exact = weir.Carry(s.decider, r.Decider, s.words, now)
	}
	words, answer := r.Decider.Decide(s.words, now, r.Ask)
	if exact || answer.Allowed && r.N != 0 {
		m.states[id] = state{words, r.Policy, r.Decider}
	} else {
		answer.Rounded = true
	}
	answer.At = now
	return answer, nil
}

// forgetSome looks at two states, in the random order of maps, and drops those that have expired. As
// each request adds one state at most, the map stays small without ever being scanned.
func (m *MapStore) forgetSome(now int64) {
	looked := 0
	for id, s := range m.states {
		if at := s.decider.Expiry(s.words); at <= now && at != math.MaxInt64 { // which stands for never
			delete(m.states, id)
		}
		if looked++; looked == 2 {
			return
		}
	}
}

// A store of one's own is handed to limiters with WithStore. The test beside it is all that
// storetest asks for.
func ExampleRun() {
	// In a file named mapstore_test.go:
	TestMapStore := func(t *testing.T) {
		storetest.Run(t, func(*testing.T) weir.Store { return new(MapStore) })
	}
	_ = TestMapStore

	store := new(MapStore)
	logins := weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: time.Minute}, weir.WithStore(store), weir.WithName("logins")))
	mails := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(store), weir.WithName("mails")))
	fmt.Println(logins.Allow("ann"), logins.Allow("ann"), logins.Allow("ann"))
	fmt.Println(mails.Allow("ann"), mails.Allow("ann"))
	// Output:
	// true true false
	// true false
}
