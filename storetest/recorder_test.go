package storetest

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir"
)

// A recorder is a testing.TB that can fail without failing anything else.
type recorder struct {
	testing.TB // nil: what is not here must not be called

	mu       sync.Mutex
	failure  string // the first
	cleanups []func()
}

func (r *recorder) Helper()             {}
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Skip(...any)         { runtime.Goexit() }

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

// runAlone runs one case and returns its first failure. It runs in a bubble: a case that looks into
// a period of real time would miss it where the machine stands still for as long.
func runAlone(
	t *testing.T, name string, patience time.Duration, newStore func() weir.Store, opts ...Option,
) (failure string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { failure = runHere(t, name, patience, newStore, opts...) })
	return failure
}

func runHere(t *testing.T, name string, patience time.Duration, newStore func() weir.Store, opts ...Option) string {
	t.Helper()
	r := &recorder{}
	own := false
	s := &suite{
		newStore: func(testing.TB) weir.Store {
			s := newStore()
			s.(*sim).set(func(b *simStates) { b.own = own })
			return s
		},
		sub: r.sub, tick: 1, patience: patience,
		isFar:       testing.Short(), // then the cases are as short as they can get
		another:     func(_ testing.TB, s weir.Store) weir.Store { return s.(*sim).second() },
		loseReplies: func(s weir.Store, n int) { s.(*sim).set(func(b *simStates) { b.lose = n }) },
		hang: func(s weir.Store) func() {
			hung := make(chan struct{})
			s.(*sim).set(func(b *simStates) { b.hung = hung })
			return func() {
				s.(*sim).set(func(b *simStates) { b.hung = nil })
				close(hung)
			}
		},
	}
	i := slices.IndexFunc(testCases(), func(c testCase) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("there is no case %q", name)
	}
	if testCases()[i].bounds == withBounds {
		s.bounds, s.early = true, simEarly
	}
	s.expiring = s.newStore
	switch testCases()[i].needs {
	case ownClock:
		opts = append(opts, simClock())
	case byRealTime:
		opts = append(opts, RealTime())
	}
	for _, opt := range opts {
		opt(s)
	}
	own = s.ownTime()
	s.runCase(r, testCases()[i])
	for _, f := range r.cleanups {
		f()
	}
	return r.failure
}

// simClock is for a sim that decides by a clock of its own.
func simClock() Option {
	return OwnClock(1, func(s weir.Store, now time.Time) {
		s.(*sim).set(func(b *simStates) { b.clock = now.UnixNano() })
	})
}
