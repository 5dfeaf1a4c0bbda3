package weir

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/table"
)

// theEntry is that of a key of a limiter on a MemStore.
func theEntry(t *testing.T, l *KeyedLimiter, key string) *table.Entry {
	t.Helper()
	mp, err := l.mem.planOf(l.plans.usual.Load())
	require.NoError(t, err)
	e := mp.memory.Find(mp.hash(key))
	require.NotNil(t, e)
	return e
}

// A key whose entry someone holds has to wait.
func TestHeldEntry(t *testing.T) {
	l := Must(New(SlidingLog{Limit: 3, Per: time.Nanosecond})) // expires at once
	l.Allow("held")
	e := theEntry(t, l, "held")
	at, ok := e.TryHold()
	require.True(t, ok)

	var decided atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		l.Allow("held")
		decided.Store(true)
	})
	for range 1000 {
		runtime.Gosched()
	}
	assert.False(t, decided.Load(), "decided while held")
	e.Release(at)
	wg.Wait()
	l.mem.Do(context.Background(), Request{Plan: l.plans.usual.Load(), Key: "held", Forget: true})
	_, ok = e.TryHold()
	assert.False(t, ok, "held after it was dropped")
}

// A key that was forgotten and comes again finds its slot.
func TestFormerSlotServesAgain(t *testing.T) {
	for _, p := range []Policy{TokenBucket{Limit: 1, Per: time.Hour}, SlidingLog{Limit: 1, Per: time.Hour}} {
		l := Must(New(p))
		require.True(t, l.Allow("k"))
		e := theEntry(t, l, "k")
		for range 1000 {
			require.False(t, l.Allow("k"))
			require.NoError(t, l.Reset(context.Background(), "k"))
			require.Zero(t, l.mem.Len())
			require.True(t, l.Allow("k"))
			require.Same(t, e, theEntry(t, l, "k"), "or the segment would have filled up")
		}
	}
}

// growing is a policy of someone else's, whose states grow, and which panics if it is asked for 13.
type growing struct{}

func (growing) Decider() (Decider, error) { return growing{}, nil }
func (growing) Words() int                { return 1 }
func (growing) Expiry([]uint64) int64     { return maxInstant }
func (growing) Decide(state []uint64, _ int64, ask Ask) ([]uint64, Answer) {
	if ask.N == 13 {
		panic("13")
	}
	if len(state) > 1 && state[0] != 13 {
		panic("not the state that was left")
	}
	for i, word := range state[1:] {
		if word != uint64(i+1)*7 {
			panic("not the state that was left")
		}
	}
	for range ask.N {
		state[0] = 13
		state = append(state, 7*uint64(len(state)))
	}
	return state, Answer{Result: Result{Allowed: true, Remaining: len(state)}}
}

// A Decider that panics leaves the key as it was, and usable: an HTTP server survives it.
func TestPanickingDecider(t *testing.T) {
	l := Must(New(growing{}))
	for i := range 100 {
		r, err := l.Take(context.Background(), "k", 1)
		require.NoError(t, err)
		require.Equal(t, i+2, r.Remaining)
		require.PanicsWithValue(t, "13", func() { _, _ = l.Take(context.Background(), "k", 13) })
		l.Allow("another")
	}
}

// fragile is a policy of another package that panics where the test says so.
type fragile struct {
	TokenBucket
	where *string
}

type fragileDecider struct {
	Decider
	where *string
}

func (f fragile) Decider() (Decider, error) {
	d, err := f.TokenBucket.Decider()
	return fragileDecider{d, f.where}, err
}

func (f fragileDecider) Expiry(state []uint64) int64 {
	if *f.where == "Expiry" {
		panic("Expiry")
	}
	return f.Decider.Expiry(state)
}

func (f fragileDecider) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	if *f.where == "Decide" {
		panic("Decide")
	}
	return f.Decider.Decide(state, now, ask)
}

// A policy that panics where the store sweeps, or where a key's policy changes, leaves all as it
// was, too.
func TestPanickingPolicy(t *testing.T) {
	where := ""
	store := new(MemStore)
	limiter := func(limit int) *KeyedLimiter {
		return Must(New(fragile{TokenBucket{Limit: limit, Per: time.Hour}, &where}, WithStore(store), WithName("shared")))
	}
	l := limiter(7) // two words
	ctx := context.Background()
	take := func(l *KeyedLimiter, n int) (r Result) {
		r, err := l.Take(ctx, "k", n)
		require.NoError(t, err)
		return r
	}
	require.Equal(t, 6, take(l, 1).Remaining)

	where = "Expiry"
	m := store.memory.Load()
	mp, err := l.mem.planOf(l.plans.usual.Load())
	require.NoError(t, err)
	s := m.Lock(mp.hash("k"))
	require.PanicsWithValue(t, "Expiry", func() { m.SweepWhenFull(s) })
	s.Unlock()
	where = ""
	require.Equal(t, 5, take(l, 1).Remaining, "the key is held by nobody")

	where = "Decide"
	changed := limiter(14)
	require.PanicsWithValue(t, "Decide", func() { _, _ = changed.Take(ctx, "k", 1) })
	where = ""
	require.Equal(t, 1, store.Len())
	require.Equal(t, 4, take(l, 1).Remaining, "what was used up is not forgotten")
	require.Equal(t, 4*2-1, take(changed, 1).Remaining)
}

// R1: a request that panics is charged to no component of All or Tiers, whichever have decided
// before, and leaves no state that the components cannot read.
func TestR1_PanickingComponent(t *testing.T) {
	where := ""
	log := func(limit int) Policy { return SlidingLog{Limit: limit, Per: time.Hour} }
	broken := fragile{TokenBucket{Limit: 100, Per: time.Hour}, &where}
	for _, p := range []Policy{
		All(TokenBucket{Limit: 10, Per: time.Hour}, broken),
		All(log(10), broken, log(12)),
		All(FixedWindow{Limit: 10, Per: time.Hour}, log(10), broken),
		All(Tiers(log(10), broken), log(12)),
		Tiers(log(4), broken, log(12)),
	} {
		now := time.Unix(1, 0)
		l := Must(New(p, WithClock(clockFunc(func() time.Time { return now }))))
		ask := func(n int) (r Result, parts []Result) {
			now = now.Add(time.Nanosecond)
			r, err := l.TakeByComponent(t.Context(), "k", n, &parts)
			require.NoError(t, err)
			return r, parts
		}
		ask(1)
		ask(3)
		was, wasParts := ask(0)
		require.Positive(t, was.Remaining)

		where = "Decide"
		for range 3 {
			require.PanicsWithValue(t, where, func() { ask(1) })
			require.PanicsWithValue(t, where, func() { l.Allow("k") })
			require.PanicsWithValue(t, where, func() { _, _ = l.Reserve(t.Context(), "k", 2) })
		}
		where = ""
		is, isParts := ask(0)
		require.Equal(t, was.Remaining, is.Remaining, "%v", p)
		for i := range wasParts {
			require.Equal(t, wasParts[i].Remaining, isParts[i].Remaining, "%v: component %d", p, i)
		}
	}
}

// clockFunc is a Clock that a test moves.
type clockFunc func() time.Time

func (c clockFunc) Now() time.Time                     { return c() }
func (clockFunc) After(time.Duration) <-chan time.Time { return nil }

// Many use few keys whose states are in the slab, while these are forgotten, given to another
// policy, and their segment is replaced: nothing is lost and nothing counted twice.
func TestHeldEntriesUnderChange(t *testing.T) {
	const limit, per = 1000, 365 * 24 * time.Hour
	store := new(MemStore)
	log := Must(New(SlidingLog{Limit: limit, Per: per}, WithStore(store)))
	var granted atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range runs.Long(3000, 300) {
				if log.Allow("k") {
					granted.Add(1)
				}
				if g == 0 { // new keys, so that segments are replaced
					log.Allow(fmt.Sprint("new ", i))
				}
				if g == 1 && i%100 == 0 {
					_ = log.SetPolicy(context.Background(), SlidingLog{Limit: limit, Per: per + time.Duration(i)})
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, limit, granted.Load())
}

// A replaceable store forgets all counts when its MemStore is replaced.
type replaceable struct{ atomic.Pointer[MemStore] }

func (s *replaceable) Do(ctx context.Context, r Request) (Answer, error) { return s.Load().Do(ctx, r) }

// A limiter keeps no MemStore that it no longer uses.
func TestAReplacedMemStoreIsGarbage(t *testing.T) {
	store := new(replaceable)
	store.Store(new(MemStore))
	l := Must(New(TokenBucket{Limit: 1, Per: time.Hour}, WithStore(store)))
	var replaced []weak.Pointer[memory]
	for range 10 {
		require.True(t, l.Allow("k"))
		replaced = append(replaced, weak.Make(store.Load().memory.Load()))
		store.Store(new(MemStore))
	}
	require.True(t, l.Allow("k"))
	runtime.GC()
	for _, m := range replaced {
		require.True(t, m.Value() == nil)
	}
	runtime.KeepAlive(l)
}
