package storetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// An aheadStore takes events of a window ahead of need, a quarter of what there is, hands them out
// by itself, and gives back the rest by a timer.
type aheadStore struct {
	shared weir.Store
	hold   time.Duration
	keeps  bool // gives nothing back
	longer bool // hands out what was granted in a window before

	mu   sync.Mutex
	held map[simID]*aheadHold
}

type simID struct{ name, key string }

type aheadHold struct {
	n       int
	at      int64
	until   int64
	charges []weir.Charge
	plan    *weir.Plan
	timer   *time.Timer
}

func (s *aheadStore) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := simID{r.Name, strings.Clone(r.Key)}
	simple := r.N > 0 && r.Mode == weir.AllOrNone && r.MaxWait == 0 && r.ByComponent == nil && r.Charges == nil && !r.Forget
	h := s.held[id]
	if h != nil && simple && h.n >= r.N && r.Now() < h.until {
		h.n -= r.N
		return weir.Answer{Result: weir.Result{Allowed: true, Limit: h.n, Remaining: h.n}, At: h.at}, nil
	}
	if h != nil {
		s.giveBack(ctx, id, h)
	}
	a, err := s.shared.Do(ctx, r)
	if w, ok := r.Policy.(weir.FixedWindow); ok && !w.FromFirst && err == nil && simple && a.Allowed {
		s.takeAhead(ctx, id, r.Plan, a.Remaining/4)
	}
	return a, err
}

// takeAhead and giveBack require that s.mu is held.
func (s *aheadStore) takeAhead(ctx context.Context, id simID, plan *weir.Plan, n int) {
	h := &aheadHold{plan: plan}
	a, err := s.shared.Do(ctx, weir.Request{Plan: plan, Key: id.key, Ask: weir.Ask{N: n, Mode: weir.UpTo, Charges: &h.charges}})
	if err != nil || a.Granted == 0 {
		return
	}
	h.n, h.at = a.Granted, a.At
	live := min(plan.Decider.(weir.Holder).Hold(a.At, []weir.Charge{{N: h.n, For: a.ResetAfter}}).For, s.hold)
	if s.longer {
		live = time.Hour
	}
	h.until = a.At + int64(live)
	s.held[id] = h
	h.timer = time.AfterFunc(live, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held[id] == h {
			s.giveBack(context.Background(), id, h)
		}
	})
}

func (s *aheadStore) giveBack(ctx context.Context, id simID, h *aheadHold) {
	h.timer.Stop()
	delete(s.held, id)
	if h.n > 0 && !s.keeps {
		_, _ = s.shared.Do(ctx, weir.Request{Plan: h.plan, Key: id.key, Ask: weir.Ask{N: -h.n, GrantedAt: h.at, Charges: &h.charges}})
	}
}

func newAhead(shared weir.Store) *aheadStore {
	return &aheadStore{shared: shared, hold: simEarly / 2, held: map[simID]*aheadHold{}}
}

func TestBubble(t *testing.T) {
	Run(t, func(*testing.T) weir.Store { return newAhead(new(weir.MemStore)) },
		Bounds(simEarly), Bubble(),
		Shared(func(_ *testing.T, s weir.Store) weir.Store { return newAhead(s.(*aheadStore).shared) }))
}

// In bubbles, too, stores beyond their bounds are caught.
func TestBubble_Broken(t *testing.T) {
	for _, c := range []struct {
		does  string
		store func(*aheadStore)
		names string
	}{
		{"gives nothing back", func(s *aheadStore) { s.keeps = true }, earlyRule},
		{"holds for too long", func(s *aheadStore) { s.hold = 2 * simEarly }, earlyRule},
		{"hands out what was granted in a window before", func(s *aheadStore) { s.longer = true }, overRule},
	} {
		t.Run(c.does, func(t *testing.T) {
			r := &recorder{}
			made := func(shared weir.Store) weir.Store {
				s := newAhead(shared)
				c.store(s)
				return s
			}
			s := &suite{
				newStore: func(testing.TB) weir.Store { return made(new(weir.MemStore)) },
				another:  func(_ testing.TB, s weir.Store) weir.Store { return made(s.(*aheadStore).shared) },
				sub:      r.sub, tick: 1, patience: impatient, bounds: true, early: simEarly,
				inBubble: func(tb testing.TB, f func(testing.TB)) {
					synctest.Test(t, func(*testing.T) { r.sub(tb, "", f) })
				},
			}
			for _, c := range testCases() {
				if c.bounds == withBounds {
					s.runCase(r, c)
				}
			}
			assert.Contains(t, r.failure, c.names)
		})
	}
}
