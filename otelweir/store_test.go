package otelweir_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/otelweir"
	"github.com/weir-go/weir/storetest"
)

// planOf is the Plan with which a limiter of a policy asks.
func planOf(p weir.Policy) (plan *weir.Plan) {
	spy := kit.StoreFunc(func(_ context.Context, r weir.Request) (weir.Answer, error) {
		plan = r.Plan
		return weir.Answer{}, nil
	})
	weir.Must(weir.New(p, weir.WithStore(spy))).Allow("")
	return plan
}

// A measured store is a store like the one behind it.
func TestStore_IsAStore(t *testing.T) {
	m, reader := newMetrics(t)
	storetest.Run(t, func(t *testing.T) weir.Store {
		runs.Brief(t, runs.Server) // it computes nothing
		return m.Store("memory", new(weir.MemStore))
	}, storetest.RoundTrips())
	assert.Positive(t, read(t, reader, "weir.store.operation.duration")["degraded=false store.name=memory"])
}

// A store that is quick stays quick, and others do not become it.
func TestStore_Quick(t *testing.T) {
	m, reader := newMetrics(t)
	_, quick := m.Store("memory", new(weir.MemStore)).(weir.QuickStore)
	assert.False(t, quick)

	lease := m.Store("lease", fleet.Lease(new(weir.MemStore), fleet.LeaseOptions{}))
	_, quick = lease.(weir.QuickStore)
	require.True(t, quick)
	l := weir.Must(weir.New(weir.FixedWindow{Limit: 10_000, Per: time.Hour}, weir.WithStore(lease)))
	for range 5000 {
		require.True(t, l.Allow("ada"))
	}
	asked := read(t, reader, "weir.store.operation.duration")["degraded=false store.name=lease"]
	assert.Less(t, asked, 250, "the others were decided from memory")
	assert.Positive(t, asked)
}

func TestStore_Accept(t *testing.T) {
	m, _ := newMetrics(t)
	_, err := weir.New(weir.FixedWindow{Limit: 1, Per: time.Hour}, weir.WithStore(m.Store("bad", &weir.MemStore{MaxKeys: -1})))
	assert.ErrorContains(t, err, "MaxKeys is -1")

	none := m.Store("none", nil)
	_, err = weir.New(weir.FixedWindow{Limit: 1, Per: time.Hour}, weir.WithStore(none))
	assert.EqualError(t, err, "weir: Metrics.Store with a nil store, must be a Store")
	_, err = none.Do(ctx, weir.Request{})
	assert.EqualError(t, err, "weir: Metrics.Store with a nil store, must be a Store")
}

func TestStore_Outcomes(t *testing.T) {
	for _, test := range []struct {
		a    weir.Answer
		err  error
		want string
	}{
		{weir.Answer{}, nil, "degraded=false store.name=redis"},
		{weir.Answer{Result: weir.Result{Allowed: true, Degraded: true}}, nil, "degraded=true store.name=redis"},
		{weir.Answer{}, fmt.Errorf("a key of 9 MB: %w", weir.ErrRequest), "error.type=request degraded=false store.name=redis"},
		{weir.Answer{}, fmt.Errorf("client closed: %w", context.Canceled), "error.type=_OTHER degraded=false store.name=redis"},
		{weir.Answer{}, fmt.Errorf("late: %w", context.DeadlineExceeded), "error.type=timeout degraded=false store.name=redis"},
		{weir.Answer{}, fmt.Errorf("read: %w", os.ErrDeadlineExceeded), "error.type=timeout degraded=false store.name=redis"},
		{weir.Answer{}, fmt.Errorf("%w: 1s", casstore.ErrNoReply), "error.type=timeout degraded=false store.name=redis"},
		{weir.Answer{}, errors.New("refused"), "error.type=_OTHER degraded=false store.name=redis"},
		// After an error the answer has no meaning.
		{weir.Answer{Result: weir.Result{Degraded: true}}, errors.New("refused"), "error.type=_OTHER degraded=false store.name=redis"},
	} {
		m, reader := newMetrics(t)
		s := m.Store("redis", kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) { return test.a, test.err }))
		a, err := s.Do(ctx, weir.Request{})
		assert.Equal(t, test.a, a)
		assert.Equal(t, test.err, err)
		assert.Equal(t, map[string]int{test.want: 1}, read(t, reader, "weir.store.operation.duration"))
	}
}

func TestStore_CallerHasGone(t *testing.T) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	m, reader := newMetrics(t)
	s := m.Store("redis", kit.StoreFunc(func(ctx context.Context, _ weir.Request) (weir.Answer, error) {
		return weir.Answer{}, fmt.Errorf("ask: %w", ctx.Err())
	}))
	_, err := s.Do(gone, weir.Request{})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, map[string]int{"error.type=canceled degraded=false store.name=redis": 1}, read(t, reader, "weir.store.operation.duration"))
}

// The deadline of a connection passes while the store hangs: on a look for the size of a chunk, and
// on a Wait, which asks the store with a context of its own.
func TestStore_DeadlineOfAConnection(t *testing.T) {
	for _, hangs := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			m, reader := newMetrics(t)
			mem := new(weir.MemStore)
			s := m.Store("redis", kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				if r.N < hangs {
					return mem.Do(ctx, r)
				}
				<-ctx.Done()
				return weir.Answer{}, fmt.Errorf("ask: %w", ctx.Err())
			}))
			writeBy(t, weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Minute}, weir.WithStore(s))))
			outcomes := read(t, reader, "weir.store.operation.duration")
			delete(outcomes, "degraded=false store.name=redis")
			assert.Equal(t, map[string]int{"error.type=timeout degraded=false store.name=redis": 1}, outcomes)
		})
	}
}

// Two measured stores, one in front of the other, tell how Redis fares, and what callers get.
func TestStore_InFrontOfAnother(t *testing.T) {
	m, reader := newMetrics(t)
	shared := new(kit.Faulty)
	shared.Down.Store(true)
	store := m.Store("limits", fleet.FailOpen(m.Store("redis", shared), fleet.FailOpenOptions{}))
	l := weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: time.Hour}, weir.WithStore(store)))
	assert.True(t, l.Allow("ada"))
	assert.Equal(t, map[string]int{
		"error.type=_OTHER degraded=false store.name=redis": 1,
		"degraded=true store.name=limits":                   1,
	}, read(t, reader, "weir.store.operation.duration"))
}

var _ weir.Limiter = (*otelweir.Limiter)(nil)
