package weir_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
)

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
		func(s weir.Store) weir.Store { return fleet.FailOpen(s, nil) },
		func(s weir.Store) weir.Store { return fleet.DenyCache(s, fleet.DenyCacheOptions{}) },
		func(s weir.Store) weir.Store { return fleet.Fallback(s, s, fleet.FallbackOptions{}) },
		func(s weir.Store) weir.Store {
			return fleet.Fallback(new(otherStore), fleet.FailOpen(s, nil), fleet.FallbackOptions{})
		},
		func(s weir.Store) weir.Store { return wrapper{fleet.FailOpen(wrapper{Store: s}, nil), nil} },
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
	for _, s := range []weir.Store{
		wrapper{new(weir.MemStore), fault},
		fleet.FailOpen(wrapper{new(weir.MemStore), fault}, nil),
		fleet.DenyCache(wrapper{new(weir.MemStore), fault}, fleet.DenyCacheOptions{}),
		fleet.Fallback(new(weir.MemStore), wrapper{new(weir.MemStore), fault}, fleet.FallbackOptions{}),
	} {
		_, err := weir.New(minutes, weir.WithStore(s))
		assert.EqualError(t, err, fault.Error())
	}
	_, err := weir.New(minutes, weir.WithStore(wrapper{}))
	assert.EqualError(t, err, "weir: the Store is nil, must be one")
}
