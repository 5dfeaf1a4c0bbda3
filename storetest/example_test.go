package storetest_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/storetest"
)

// A MapStore is a minimal [weir.Store]: a map of states, and a lock that makes each request one
// step.
type MapStore struct {
	mu     sync.Mutex
	states map[stateID]weir.Ledger
}

// A stateID has two fields. If name and key were joined, "a" and "b:c" would equal "a:b" and "c".
type stateID struct{ name, key string }

// Do implements [weir.Store]. It never blocks for long, and does not need ctx.
func (m *MapStore) Do(_ context.Context, r weir.Request) (weir.Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.states == nil {
		m.states = make(map[stateID]weir.Ledger)
	}
	now := r.Now() // under the lock: a later step never has an older time
	m.forgetSome(now)

	id := stateID{r.Name, r.Key}
	if r.Forget {
		delete(m.states, id)
		return weir.Answer{}, nil
	}
	next, answer, changed, err := m.states[id].Decide(weir.Rule{Policy: r.Policy, Decider: r.Decider}, now, r.Ask)
	if changed {
		// The name and the key are valid during Do only.
		m.states[stateID{strings.Clone(r.Name), strings.Clone(r.Key)}] = next
	}
	answer.At = now
	return answer, err
}

// forgetSome looks at two states, in the random order of maps, and drops those that have expired.
// Each request adds at most one state, so the map stays small and is never scanned.
func (m *MapStore) forgetSome(now int64) {
	looked := 0
	for id, s := range m.states {
		if at := s.Expiry(); at <= now && at != math.MaxInt64 { // MaxInt64 means never
			delete(m.states, id)
		}
		if looked++; looked == 2 {
			return
		}
	}
}

// A custom store is passed to limiters by WithStore. The test in its package calls storetest.
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
