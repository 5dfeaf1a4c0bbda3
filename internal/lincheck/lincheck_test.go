package lincheck

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// policies are all of them, in every form that their states take: a word, which MemStore exchanges
// without a lock, several, and a number that changes.
var policies = []struct {
	name string
	weir.Policy
}{
	{"TokenBucket in a word", weir.TokenBucket{Limit: 10, Per: time.Second}},
	{"TokenBucket in two words", weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 12}},
	{"LeakyBucket in a word", weir.LeakyBucket{Limit: 40, Per: time.Second}},
	{"LeakyBucket in two words", weir.LeakyBucket{Limit: 37, Per: time.Second}},
	{"FixedWindow", weir.FixedWindow{Limit: 10, Per: time.Second}},
	{"FixedWindow in two words", weir.FixedWindow{Limit: 1 << 30, Per: time.Second}},
	{"FixedWindow FromFirst", weir.FixedWindow{Limit: 10, Per: time.Second, FromFirst: true}},
	{"SlidingWindow", weir.SlidingWindow{Limit: 10, Per: time.Second}},
	{"SlidingWindow with Buckets", weir.SlidingWindow{Limit: 10, Per: time.Second, Buckets: 4}},
	{"SlidingLog", weir.SlidingLog{Limit: 10, Per: time.Second}},
}

// timeout is how long the checker may search for an order.
const timeout = 15 * time.Second

func check(t *testing.T, r *recording) porcupine.CheckResult {
	t.Helper()
	history, err := r.run()
	if err != nil {
		t.Fatal(err)
	}
	m, err := model(r.policy)
	if err != nil {
		t.Fatal(err)
	}
	if want := r.goroutines * r.takes; len(history) != want {
		t.Fatalf("recorded %d takes, want %d", len(history), want)
	}
	return porcupine.CheckOperationsTimeout(m, history, timeout)
}

// R10: whatever several goroutines take from a few keys at once, there is an order of single
// decisions that explains all their answers, to the nanosecond; while time stands still, and while
// it moves.
func TestR10_MemStoreIsLinearizable(t *testing.T) {
	for _, p := range policies {
		for _, frozen := range []bool{true, false} {
			t.Run(p.name+map[bool]string{true: ", frozen", false: ", moving"}[frozen], func(t *testing.T) {
				r := &recording{
					policy: p.Policy, store: new(weir.MemStore), frozen: frozen,
					goroutines: 6, takes: runs.Long(1000, 300), keys: []string{"a", "b", "c"},
				}
				if got := check(t, r); got != porcupine.Ok {
					t.Errorf("R10 (concurrent steps on a key come one after another): %#v: the history is %s", p.Policy, got)
				}
			})
		}
	}
}

// A racyStore reads a state and writes it in two steps, as a store does that gets, decides and
// sets. The clock, which it reads in between, lets others go on.
type racyStore struct {
	mu     sync.Mutex
	states map[string][]uint64
}

func (s *racyStore) Do(_ context.Context, r weir.Request) (weir.Answer, error) {
	s.mu.Lock()
	state := append([]uint64(nil), s.states[r.Key]...)
	s.mu.Unlock()
	if state == nil {
		state = make([]uint64, r.Decider.Words())
	}
	state, a := r.Decider.Decide(state, r.Now(), r.Ask)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[r.Key] = state
	return a, nil
}

// The check can fail: it finds what a store does wrong that reads and writes in two steps.
func TestRacyStoreIsFound(t *testing.T) {
	for _, p := range policies {
		t.Run(p.name, func(t *testing.T) {
			r := &recording{
				policy: p.Policy, store: &racyStore{states: map[string][]uint64{}},
				goroutines: 6, takes: 100, keys: []string{"a"}, frozen: true,
			}
			if got := check(t, r); got != porcupine.Illegal {
				t.Errorf("the history of a store that races is %s, want Illegal", got)
			}
		})
	}
}
