package weir_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// The plans of a limiter are equal if its policies are. A limiter may change its policy back and
// forth.
func TestPlan_Equal(t *testing.T) {
	type list struct { // a policy that cannot be compared with ==
		weir.FixedWindow
		why []string
	}
	var plan *weir.Plan
	catch := weir.WithStore(kit.StoreFunc(func(_ context.Context, r weir.Request) (weir.Answer, error) {
		plan = r.Plan
		return weir.Answer{}, nil
	}))
	window := weir.FixedWindow{Limit: 1, Per: time.Second}
	one, other := weir.Must(weir.New(window, catch)), weir.Must(weir.New(window, catch))
	of := func(l *weir.KeyedLimiter, p weir.Policy) *weir.Plan {
		kit.SetPolicy(t, l, p)
		l.Allow("k")
		return plan
	}
	p, listed := of(one, window), of(one, list{window, []string{"a"}})
	for _, test := range []struct {
		what  string
		p, q  *weir.Plan
		equal bool
	}{
		{"itself", p, p, true},
		{"no plan", p, nil, false},
		{"no plans", nil, nil, true},
		{"the same policy again", p, of(one, window), true},
		{"another limit", p, of(one, weir.FixedWindow{Limit: 2, Per: time.Second}), false},
		{"another type", p, listed, false},
		{"an equal list", listed, of(one, list{window, []string{"a"}}), true},
		{"another list", listed, of(one, list{window, []string{"b"}}), false},
		{"another limiter", p, of(other, window), false},
	} {
		assert.Equal(t, test.equal, test.p.Equal(test.q), test.what)
		assert.Equal(t, test.equal, test.q.Equal(test.p), "%s, the other way round", test.what)
	}
}

// A store can know how long a request has waited for others of its key.
func TestWaited(t *testing.T) {
	assert.Zero(t, weir.Waited(context.Background()))
	synctest.Test(t, func(t *testing.T) {
		var waited []time.Duration // guarded by the turns of the key
		mem := new(weir.MemStore)
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 9, Per: time.Hour}, weir.WithStore(kit.StoreFunc(
			func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				waited = append(waited, weir.Waited(ctx))
				time.Sleep(100 * time.Millisecond)
				return mem.Do(ctx, r)
			}))))
		var calls sync.WaitGroup
		calls.Go(func() { assert.NoError(t, l.Wait(t.Context(), "k", 1)) })
		time.Sleep(30 * time.Millisecond)
		calls.Go(func() { assert.NoError(t, l.Return(t.Context(), "k", 1)) })
		time.Sleep(30 * time.Millisecond)
		calls.Go(func() { assert.NoError(t, l.Wait(t.Context(), "k", 1)) })
		calls.Wait()
		assert.Equal(t, []time.Duration{0, 70 * time.Millisecond, 140 * time.Millisecond}, waited)
	})
}

// A store over a network has all its time to give back a booking, however long the call has waited for
// others: the waiters behind move up only if this store has freed the events.
func TestWaited_Bookings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		back := map[int]time.Duration{}
		mem := new(weir.MemStore)
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 9, Per: time.Hour}, weir.WithStore(kit.StoreFunc(
			func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				if r.N < 0 {
					mu.Lock()
					back[r.N] = weir.Waited(ctx)
					mu.Unlock()
				}
				time.Sleep(100 * time.Millisecond)
				return mem.Do(ctx, r)
			}))))
		canceled, settled := kit.Reserve(t, l, 1), kit.Reserve(t, l, 4)
		ctx, leave := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() { assert.ErrorIs(t, l.Wait(ctx, "k", 9), context.Canceled) })
		time.Sleep(time.Second)
		calls.Go(func() { assert.NoError(t, l.Wait(t.Context(), "k", 5)) }) // the others wait for its booking
		time.Sleep(time.Millisecond)
		calls.Go(func() { assert.NoError(t, canceled.Cancel(t.Context())) })
		calls.Go(func() { assert.NoError(t, settled.Settle(t.Context(), 2)) })
		calls.Go(func() { assert.NoError(t, l.Return(t.Context(), "k", 3)) })
		leave()
		calls.Wait()
		assert.Equal(t, map[int]time.Duration{-1: 0, -2: 0, -3: 99 * time.Millisecond, -9: 0}, back)
	})
}

var (
	minutes = weir.TokenBucket{Limit: 100, Per: time.Minute}
	logins  = weir.SlidingLog{Limit: 5, Per: time.Hour}
)

const sharedByAccident = "weir: the store already serves a limiter without a name, of policy 100/1m, " +
	"which would share its keys with this one, of policy sliding-log 5/1h: give each a name by WithName"

// wrapper is a store of another package in front of one.
type wrapper struct {
	weir.Store
	fault error
}

func (w wrapper) Accept(l *weir.KeyedLimiter) error {
	return errors.Join(w.fault, weir.Accept(w.Store, l))
}

// R11: two limiters without a name share their keys by accident, if their policies differ. New says
// so.
func TestR11_LimitersWithoutANameThatDiffer(t *testing.T) {
	for _, behind := range []func(weir.Store) weir.Store{
		func(s weir.Store) weir.Store { return s },
		func(s weir.Store) weir.Store { return fleet.FailOpen(s, fleet.FailOpenOptions{}) },
		func(s weir.Store) weir.Store { return fleet.DenyCache(s, fleet.DenyCacheOptions{}) },
		func(s weir.Store) weir.Store { return fleet.Fallback(s, s, fleet.FallbackOptions{}) },
		func(s weir.Store) weir.Store {
			return fleet.Fallback(new(otherStore), fleet.FailOpen(s, fleet.FailOpenOptions{}), fleet.FallbackOptions{})
		},
		func(s weir.Store) weir.Store {
			return wrapper{fleet.FailOpen(wrapper{Store: s}, fleet.FailOpenOptions{}), nil}
		},
	} {
		store := new(weir.MemStore)
		first := weir.Must(weir.New(minutes, weir.WithStore(store)))
		_, err := weir.New(logins, weir.WithStore(behind(store)))
		assert.EqualError(t, err, sharedByAccident)
		for range 2 {
			_, err = weir.New(&minutes, weir.WithStore(behind(store)))
			assert.NoError(t, err, "the same policy")
		}
		for _, name := range []string{"", "logins"} {
			_, err = weir.New(logins, weir.WithStore(behind(store)), weir.WithName(name))
			assert.NoError(t, err, "with a name, even if that is empty")
		}
		_, err = weir.New(minutes, weir.WithStore(behind(store)))
		assert.NoError(t, err, "those with a name don't count")
		runtime.KeepAlive(first)
	}
}

// otherStore is a store of another package that accepts all limiters.
type otherStore struct{}

func (*otherStore) Do(context.Context, weir.Request) (weir.Answer, error) { return weir.Answer{}, nil }

func TestAccept_AfterSetPolicy(t *testing.T) {
	for _, p := range []weir.Policy{logins, minutes} {
		store := new(weir.MemStore)
		l := weir.Must(weir.New(logins, weir.WithStore(store)))
		require.NoError(t, l.SetPolicy(background, minutes))
		_, err := weir.New(weir.FixedWindow{Limit: 1, Per: 1}, weir.WithStore(store))
		assert.ErrorContains(t, err, "of policy 100/1m, which would share its keys with this one, of policy fixed-window 1/1ns")
		_, err = weir.New(p, weir.WithStore(store))
		assert.NoError(t, err, "its policy now, or what it was")
		runtime.KeepAlive(l)
	}
}

// A store that looks at the policy, in Accept, is asked about an invalid one, too.
type choosy struct{ weir.Store }

func (choosy) Accept(l *weir.KeyedLimiter) error {
	plan, err := l.PlanOf(context.Background(), "")
	if err == nil && weir.Components(plan.Policy) != nil {
		err = errors.New("must be a single policy")
	}
	return err
}

func TestAccept_LooksAtThePolicy(t *testing.T) {
	s := weir.WithStore(choosy{new(weir.MemStore)})
	p := weir.TokenBucket{Limit: 1, Per: time.Second}
	_, err := weir.New(p, s)
	require.NoError(t, err)
	_, err = weir.New(weir.All(p), s)
	require.ErrorContains(t, err, "must be a single policy")
	_, err = weir.New(weir.TokenBucket{Per: time.Second}, s)
	require.ErrorContains(t, err, "TokenBucket.Limit is 0, must be at least 1\nweir: the limiter has no Plan")
}

// A limiter that New did not make, and one that is garbage, shares nothing.
func TestAccept_LimitersThatAreNotInUse(t *testing.T) {
	store := new(weir.MemStore)
	_, err := weir.New(minutes, weir.WithStore(store), weir.WithClock(nil))
	assert.EqualError(t, err, "weir: WithClock(nil), must be a Clock")
	_, err = weir.New(nil, weir.WithStore(store))
	assert.EqualError(t, err, "weir: the Policy is nil, must be one")
	l, err := weir.New(logins, weir.WithStore(store))
	require.NoError(t, err)
	assert.True(t, l.Allow("k"))
	_, err = weir.New(minutes, weir.WithStore(store))
	assert.Error(t, err)
	runtime.KeepAlive(l)

	l = nil
	require.Eventually(t, func() bool {
		runtime.GC()
		l, err = weir.New(minutes, weir.WithStore(store))
		return err == nil
	}, time.Minute, time.Millisecond)
	assert.True(t, l.Allow("k"))
}

// P23: a program that makes limiter after limiter on one store keeps none of them.
func TestP23_LimitersOfAStoreAreForgotten(t *testing.T) {
	store := new(weir.MemStore)
	for i := range 10_000 {
		weir.Must(weir.New(minutes, weir.WithStore(store)))
		if i%500 == 0 {
			runtime.GC()
		}
	}
	assert.Less(t, weir.Unnamed(store), 4000)
}

func TestAccept_ReportsFaultsOfOtherStores(t *testing.T) {
	fault := errors.New("other: Options.Size is -1, must be at least 0")
	for where, s := range map[string]weir.Store{
		"":                               wrapper{new(weir.MemStore), fault},
		"weir: the store of FailOpen: ":  fleet.FailOpen(wrapper{new(weir.MemStore), fault}, fleet.FailOpenOptions{}),
		"weir: the store of DenyCache: ": fleet.DenyCache(wrapper{new(weir.MemStore), fault}, fleet.DenyCacheOptions{}),
		"weir: the second store of Fallback: ": fleet.Fallback(
			new(weir.MemStore), wrapper{new(weir.MemStore), fault}, fleet.FallbackOptions{}),
	} {
		_, err := weir.New(minutes, weir.WithStore(s))
		assert.EqualError(t, err, where+fault.Error())
		assert.ErrorIs(t, err, fault)
	}
	_, err := weir.New(minutes, weir.WithStore(wrapper{}))
	assert.EqualError(t, err, "weir: the Store is nil, must be a Store")
}

// Each method says which call failed, and the name of the library once. No error is io.EOF: to a
// reader that asks a limiter it would mean that all was read.
func TestErrorsOfAStore(t *testing.T) {
	works := true
	var mem weir.MemStore
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(kit.StoreFunc(
		func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if !works {
				return weir.Answer{}, fmt.Errorf("weir: the store: %w", io.EOF)
			}
			return mem.Do(ctx, r)
		}))))
	ctx := context.Background()
	one, another := kit.Reserve(t, l, 1), kit.Reserve(t, l, 1)
	works = false
	for call, err := range map[string]error{
		"Cancel":              one.Cancel(ctx),
		"Settle for 3 events": another.Settle(ctx, 3),
		"Reset":               l.Reset(ctx, "k"),
		"Return of 1 events":  l.Return(ctx, "k", 1),
		"Wait for 1 events":   l.Wait(ctx, "k", 1),
	} {
		assert.EqualError(t, err, "weir: "+call+": the store: EOF")
		assert.NotErrorIs(t, err, io.EOF)
	}
}
