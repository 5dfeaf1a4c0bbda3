package weir_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// The plans of a limiter are equal if its policies are. A limiter may change its policy to and fro.
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
