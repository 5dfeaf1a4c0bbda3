package main

import (
	"context"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
)

// A taker decides. Every [weir.Limiter] is one.
type taker interface {
	Take(ctx context.Context, key string, n int) (weir.Result, error)
}

// A way is how nodes keep a limit together.
type way struct {
	name, does string

	// open returns what decides in one of so many nodes, and what to call at the end.
	open func(p weir.FixedWindow, shared weir.Store, node, nodes int) (taker, func(context.Context) error, error)
}

var ways = []way{
	{"plain", "each decision asks the store", plain},
	{"batched", "the requests of 500 µs ask together (model of Gubernator)", batched},
	{"synced", "each node counts, and adds up each 100 ms (model of Kong)", synced},
	{"shares", "each node grants an eighth of the limit", shares},
	{"lease", "each node takes events ahead of need", lease},
}

func wayNamed(name string) (way, bool) {
	for _, w := range ways {
		if w.name == name {
			return w, true
		}
	}
	return way{}, false
}

func plain(p weir.FixedWindow, shared weir.Store, _, _ int) (taker, func(context.Context) error, error) {
	limiter, err := weir.New(p, weir.WithStore(shared), weir.WithName("plain"))
	return limiter, nothing, err
}

// lease is one call more than plain. A service also puts a fleet.Fallback around shared, for outages.
func lease(p weir.FixedWindow, shared weir.Store, _, _ int) (taker, func(context.Context) error, error) {
	store := fleet.Lease(shared, fleet.LeaseOptions{})
	limiter, err := weir.New(p, weir.WithStore(store), weir.WithName("lease"))
	return limiter, store.Release, err
}

// shares has as many members all the time, as a StatefulSet has. The share of a node that was killed
// is lost until it is back. examples/shares has members that come and go.
func shares(p weir.FixedWindow, _ weir.Store, node, nodes int) (taker, func(context.Context) error, error) {
	store := fleet.NewShares(new(weir.MemStore))
	if err := store.Set(fleet.Membership{Members: nodes, Index: node}); err != nil {
		return nil, nothing, err
	}
	limiter, err := weir.New(p, weir.WithStore(store), weir.WithName("shares"))
	return limiter, nothing, err
}

func batched(p weir.FixedWindow, shared weir.Store, _, _ int) (taker, func(context.Context) error, error) {
	limiter, err := weir.New(p, weir.WithStore(shared), weir.WithName("batched"))
	return &batches{limiter: limiter, wait: 500 * time.Microsecond}, nothing, err
}

func synced(p weir.FixedWindow, shared weir.Store, _, _ int) (taker, func(context.Context) error, error) {
	// The shared counter denies nothing. Its Remaining tells how much all nodes have used.
	counter, err := weir.New(weir.FixedWindow{Limit: 1_000_000_000, Per: p.Per},
		weir.WithStore(shared), weir.WithName("synced"))
	if err != nil {
		return nil, nothing, err
	}
	c := &counts{policy: p, shared: counter}
	return c, c.every(100 * time.Millisecond), nil
}

func nothing(context.Context) error { return nil }
