// The stores are tested as callers see them, through limiters and by what a limiter asks. With a
// first store that works, each passes the suite of package storetest. Faults and outages are in
// testing/synctest bubbles, or by clocks that are set by hand.
package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

const century = 100 * 365 * 24 * time.Hour

// planOf is the plan of a limiter, for requests that no limiter makes.
func planOf(p weir.Policy, opts ...weir.Option) (plan *weir.Plan) {
	spy := kit.StoreFunc(func(_ context.Context, r weir.Request) (weir.Answer, error) {
		plan = r.Plan
		return weir.Answer{}, nil
	})
	weir.Must(weir.New(p, append(opts, weir.WithStore(spy))...)).Allow("")
	return plan
}

var badMem = &weir.MemStore{MaxKeys: -1}

var notMadeRight = []struct {
	store weir.Store
	want  string
}{
	{fleet.FailOpen(nil, fleet.FailOpenOptions{}), "weir: FailOpen with a nil store, must be a Store"},
	{fleet.FailOpen(badMem, fleet.FailOpenOptions{}), "weir: the store of FailOpen: MemStore.MaxKeys is -1, must be at least 0"},
	{fleet.Fallback((*weir.MemStore)(nil), new(weir.MemStore), fleet.FallbackOptions{}), "weir: the first store of Fallback: the Store is a nil *weir.MemStore, must be a Store"},
	{
		fleet.FailOpen(fleet.DenyCache(nil, fleet.DenyCacheOptions{MaxKeys: -2, MaxAge: -3}), fleet.FailOpenOptions{}),
		"weir: the store of FailOpen: DenyCache with a nil store, must be a Store\n" +
			"weir: the store of FailOpen: DenyCacheOptions.MaxKeys is -2, must be from 0 to 10000000\n" +
			"weir: the store of FailOpen: DenyCacheOptions.MaxAge is -3ns, must be at least 0",
	},
	{
		fleet.Fallback(nil, badMem, fleet.FallbackOptions{Budget: -1, CoolDown: -2, MaxInFlight: -3}),
		"weir: Fallback with a nil first store, must be a Store\n" +
			"weir: the second store of Fallback: MemStore.MaxKeys is -1, must be at least 0\n" +
			"weir: FallbackOptions.Budget is -1ns, must be at least 0\n" +
			"weir: FallbackOptions.CoolDown is -2ns, must be at least 0\n" +
			"weir: FallbackOptions.MaxInFlight is -3, must be at least 0",
	},
	{fleet.Fallback(new(weir.MemStore), nil, fleet.FallbackOptions{}), "weir: Fallback with a nil second store, must be a Store"},
	{
		fleet.Lease(nil, fleet.LeaseOptions{MaxAge: -1, MaxKeys: -2}),
		"weir: Lease with a nil store, must be a Store\n" +
			"weir: LeaseOptions.MaxKeys is -2, must be from 0 to 10000000\n" +
			"weir: LeaseOptions.MaxAge is -1ns, must be at least 0",
	},
	{fleet.Lease(badMem, fleet.LeaseOptions{}), "weir: the store of Lease: MemStore.MaxKeys is -1, must be at least 0"},
}

// A store that was not made right decides nothing, and tells all that is wrong with it, however
// deep it is wrapped. [fleet.FailOpen] does not take that for an outage.
func TestWrappers_NotMadeRight(t *testing.T) {
	for _, test := range notMadeRight {
		a, err := test.store.Do(context.Background(), weir.Request{Plan: planOf(weir.TokenBucket{Limit: 1, Per: 1})})
		assert.Equal(t, weir.Answer{}, a)
		assert.EqualError(t, err, test.want)
		if l, ok := test.store.(*fleet.LeaseStore); ok {
			assert.NoError(t, l.Release(context.Background()), "there is nothing to give back")
		}
	}
}

// New refuses a store that was not made right.
func TestNew_RefusesAStoreNotMadeRight(t *testing.T) {
	for _, test := range notMadeRight {
		_, err := weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithStore(test.store))
		assert.EqualError(t, err, test.want)
	}
}
