package otelweir_test

import (
	"context"
	"errors"
	"net"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/iolimit"
	"github.com/weir-go/weir/otelweir"
)

// Each method that decides counts one request, and returns what the limiter returns.
func TestLimiter_Methods(t *testing.T) {
	for method, ask := range map[string]func(l *otelweir.Limiter, n int) (allowed bool, err error){
		"Allow": func(l *otelweir.Limiter, _ int) (bool, error) { return l.Allow("ada"), nil },
		"Take": func(l *otelweir.Limiter, n int) (bool, error) {
			r, err := l.Take(ctx, "ada", n)
			return r.Allowed, err
		},
		"TakeUpTo": func(l *otelweir.Limiter, n int) (bool, error) {
			granted, r, err := l.TakeUpTo(ctx, "ada", n)
			return granted > 0 && r.Allowed, err
		},
		"TakeByComponent": func(l *otelweir.Limiter, n int) (bool, error) {
			r, err := l.TakeByComponent(ctx, "ada", n, nil)
			return r.Allowed, err
		},
		"Reserve": func(l *otelweir.Limiter, n int) (bool, error) {
			r, err := l.Reserve(ctx, "ada", n)
			return err == nil && r.Allowed, err
		},
		"ReserveNow": func(l *otelweir.Limiter, n int) (bool, error) {
			var r weir.Reservation
			err := l.ReserveNow(ctx, "ada", n, &r, nil)
			return r.Allowed, err
		},
		"Wait": func(l *otelweir.Limiter, n int) (bool, error) {
			soon, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			err := l.Wait(soon, "ada", n)
			if errors.Is(err, weir.ErrTooLate) {
				return false, nil
			}
			return err == nil, err
		},
	} {
		t.Run(method, func(t *testing.T) {
			m, reader := newMetrics(t)
			store := new(kit.Faulty)
			l := m.Limiter("login", weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Hour}, weir.WithStore(store))))

			if method != "Allow" { // which always asks for one event
				_, err := ask(l, 0)
				assert.NoError(t, err)
				_, err = ask(l, -1)
				assert.Error(t, err)
				assert.Empty(t, requests(t, reader), "a look, and what is no request")
			}
			for _, want := range []bool{true, false, false} {
				allowed, err := ask(l, 1)
				assert.NoError(t, err)
				assert.Equal(t, want, allowed)
			}
			store.Down.Store(true)
			allowed, err := ask(l, 1)
			assert.False(t, allowed)
			if method != "Allow" {
				assert.ErrorIs(t, err, kit.ErrStore)
			}
			assert.Equal(t, map[string]int{
				"degraded=false limiter.name=login result=granted": 1,
				"degraded=false limiter.name=login result=denied":  2,
				"degraded=false limiter.name=login result=error":   1,
			}, requests(t, reader))
		})
	}
}

// A method that weir adds is not forgotten: each decides and is counted, or is listed here.
func TestLimiter_AllMethods(t *testing.T) {
	source, err := os.ReadFile("limiter.go")
	require.NoError(t, err)
	keyed := reflect.TypeFor[*weir.KeyedLimiter]()
	for i := range keyed.NumMethod() {
		name := keyed.Method(i).Name
		if slices.Contains([]string{"PlanOf", "Reset", "Return", "SetPolicy"}, name) {
			continue
		}
		assert.Contains(t, string(source), "func (l *Limiter) "+name+"(")
	}
}

// Prometheus sees the first denial only if it has seen the count of 0 before.
func TestLimiter_CountsStartAtZero(t *testing.T) {
	m, reader := newMetrics(t)
	l := weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Hour}))
	first, second := m.Limiter("login", l), m.Limiter("login", l)
	assert.Equal(t, map[string]int{
		"degraded=false limiter.name=login result=granted":  0,
		"degraded=false limiter.name=login result=denied":   0,
		"degraded=false limiter.name=login result=canceled": 0,
		"degraded=false limiter.name=login result=error":    0,
	}, read(t, reader, "weir.requests"))

	first.Allow("ada")
	second.Allow("bob")
	assert.Equal(t, map[string]int{"degraded=false limiter.name=login result=granted": 2}, requests(t, reader), "together")
}

// All that a limiter can do besides is what the limiter does.
func TestLimiter_Embedded(t *testing.T) {
	m, reader := newMetrics(t)
	l := m.Limiter("login", weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Hour})))
	require.True(t, l.Allow("ada"))
	require.NoError(t, l.Return(ctx, "ada", 1))
	require.True(t, l.Allow("ada"))
	require.NoError(t, l.Reset(ctx, "ada"))
	require.True(t, l.Allow("ada"))
	assert.Equal(t, map[string]int{"degraded=false limiter.name=login result=granted": 3}, requests(t, reader))
}

func TestLimiter_Degraded(t *testing.T) {
	m, reader := newMetrics(t)
	shared := new(kit.Faulty)
	shared.Down.Store(true)
	store := fleet.Fallback(shared, new(weir.MemStore), fleet.FallbackOptions{})
	l := m.Limiter("login", weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Hour}, weir.WithStore(store))))
	assert.True(t, l.Allow("ada"))
	assert.False(t, l.Allow("ada"))
	_, err := l.Reserve(ctx, "bob", 1)
	assert.NoError(t, err)
	assert.Equal(t, map[string]int{
		"degraded=true limiter.name=login result=granted": 2,
		"degraded=true limiter.name=login result=denied":  1,
	}, requests(t, reader))
}

// What the end of a context means depends on why it has ended, and on who waits.
func TestLimiter_EndedContexts(t *testing.T) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	late, cancel := context.WithTimeout(ctx, 0)
	defer cancel()
	m, reader := newMetrics(t)
	l := m.Limiter("login", weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Hour})))
	count := func() map[string]int { return requests(t, reader) }

	_, err := l.Take(gone, "ada", 1)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, l.Wait(gone, "ada", 1), context.Canceled)
	assert.Equal(t, map[string]int{"degraded=false limiter.name=login result=canceled": 2}, count())

	_, err = l.Take(late, "ada", 1)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, 1, count()["degraded=false limiter.name=login result=error"])

	assert.Error(t, l.Wait(late, "ada", 1))
	assert.ErrorIs(t, l.Wait(ctx, "ada", 2), weir.ErrNeverFits)
	assert.Equal(t, 2, count()["degraded=false limiter.name=login result=denied"])
}

// writeBy writes a byte to a connection with a limit and a deadline, which comes too soon.
func writeBy(t *testing.T, l weir.Limiter) {
	t.Helper()
	near, _ := net.Pipe()
	c := iolimit.NewConn(near, nil, []iolimit.Limit{{Limiter: l, Key: "ada"}})
	require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Second)))
	_, err := c.Write([]byte("x"))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// The deadline of a connection is one, although it ends a context by a cancel.
func TestLimiter_DeadlineOfAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, reader := newMetrics(t)
		l := m.Limiter("upload", weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Minute})))
		require.True(t, l.Allow("ada"))
		writeBy(t, l)
		assert.Equal(t, map[string]int{
			"degraded=false limiter.name=upload result=granted": 1,
			"degraded=false limiter.name=upload result=denied":  1,
		}, requests(t, reader))
	})
}

func TestLimiter_Queue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, reader := newMetrics(t)
		l := m.Limiter("mail", weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 4})))
		var wg sync.WaitGroup
		patient, cancel := context.WithCancel(ctx)
		for range 6 { // one at once, four wait, and the queue has no room for the last
			wg.Go(func() { _ = l.Wait(patient, "ada", 1) })
			synctest.Wait()
		}
		assert.Equal(t, map[string]int{"limiter.name=mail": 4}, read(t, reader, "weir.queued_requests"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, map[string]int{"limiter.name=mail": 2}, read(t, reader, "weir.queued_requests"))
		cancel()
		wg.Wait()
		assert.Equal(t, map[string]int{"limiter.name=mail": 0}, read(t, reader, "weir.queued_requests"))
		assert.Equal(t, map[string]int{
			"limiter.name=mail result=granted":  3,
			"limiter.name=mail result=denied":   1,
			"limiter.name=mail result=canceled": 2,
		}, read(t, reader, "weir.request.time_in_queue"))
	})
}

// Whatever processors count at the same time, and while counts are read, none is lost.
func TestLimiter_Concurrent(t *testing.T) {
	m, reader := newMetrics(t)
	l := m.Limiter("api", weir.Must(weir.New(weir.SlidingLog{Limit: 100, Per: time.Hour})))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				l.Allow("ada")
			}
		})
	}
	for range 10 {
		requests(t, reader)
	}
	wg.Wait()
	assert.Equal(t, map[string]int{
		"degraded=false limiter.name=api result=granted": 100,
		"degraded=false limiter.name=api result=denied":  7900,
	}, requests(t, reader))
}

func TestLimiter_Nil(t *testing.T) {
	m, _ := newMetrics(t)
	assert.PanicsWithValue(t, "weir: Metrics.Limiter with a nil KeyedLimiter, must be a KeyedLimiter",
		func() { m.Limiter("none", nil) })
}

func TestAllocs(t *testing.T) {
	m, _ := newMetrics(t)
	l := m.Limiter("api", weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour})))
	_ = l.Allow("ada")
	assert.Zero(t, kit.AllocsPerRun(1000, func() { l.Allow("ada") }))
	assert.Zero(t, kit.AllocsPerRun(1000, func() { _, _ = l.Take(ctx, "ada", 1) }))

	s := m.Store("memory", new(weir.MemStore))
	plan := planOf(weir.TokenBucket{Limit: 1, Per: time.Hour})
	r := weir.Request{Plan: plan, Key: "ada", Ask: weir.Ask{N: 1}}
	_, _ = s.Do(ctx, r)
	assert.Zero(t, kit.AllocsPerRun(1000, func() { _, _ = s.Do(ctx, r) }))
}
