package weir_test

import (
	"context"
	"io"
	"math"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

func TestTakeUpTo_TakesAsManyAsThereAre(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		l := weir.Must(weir.New(p, weir.WithClock(&kit.HandClock{Time: time.Unix(0, kit.T0)})))
		limit := kit.Take(t, l, "k", 0).Limit
		granted, r, err := l.TakeUpTo(background, "k", 0)
		require.NoError(t, err)
		assert.Zero(t, granted)
		assert.True(t, r.Allowed, "a look")

		granted, r, err = l.TakeUpTo(background, "k", math.MaxInt)
		require.NoError(t, err)
		assert.Equal(t, limit, granted, "nothing is too much")
		assert.True(t, r.Allowed)
		assert.Zero(t, r.Remaining)
		assert.Zero(t, r.RetryAfter)

		granted, r, err = l.TakeUpTo(background, "k", 3)
		require.NoError(t, err)
		assert.Zero(t, granted)
		assert.False(t, r.Allowed)
		assert.Equal(t, kit.Take(t, l, "k", 1).RetryAfter, r.RetryAfter, "until there is one")
	})
}

// A loop that waits for RetryAfter whenever no event is granted gets all that the policy allows,
// and no more.
func TestTakeUpTo_InALoop(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		clock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
		l := weir.Must(weir.New(p, weir.WithClock(clock)))
		one := weir.Must(weir.New(p, weir.WithClock(clock))) // the same by Take of one
		end := clock.Add(3*time.Minute + 1)
		for clock.Before(end) {
			granted, r, err := l.TakeUpTo(background, "k", 1000)
			require.NoError(t, err)
			if _, isQueue := p.(weir.LeakyBucket); isQueue { // an ask goes as a whole there
				require.Equal(t, granted > 0, kit.Take(t, one, "k", max(granted, 1)).Allowed)
			} else {
				for range granted {
					require.True(t, one.Allow("k"))
				}
				require.False(t, one.Allow("k"))
			}
			require.Equal(t, granted == 0, r.RetryAfter > 0)
			if granted == 0 {
				clock.Time = clock.Add(r.RetryAfter)
			}
		}
	})
}

func TestTakeUpTo_Errors(t *testing.T) {
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Second}))
	_, _, err := l.TakeUpTo(background, "k", -1)
	assert.EqualError(t, err, "weir: TakeUpTo -1 events, must be at least 0")
	ended, end := context.WithCancel(background)
	end()
	_, _, err = l.TakeUpTo(ended, "k", 1)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 5, kit.Take(t, l, "k", 0).Remaining)
	_, _, err = (*weir.KeyedLimiter)(nil).TakeUpTo(background, "k", 1)
	assert.Error(t, err)

	store := new(kit.Faulty)
	store.Down.Store(true)
	l = weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Second}, weir.WithStore(store)))
	granted, r, err := l.TakeUpTo(background, "k", 1)
	assert.ErrorIs(t, err, kit.ErrStore)
	assert.Zero(t, granted)
	assert.Zero(t, r)
}

// A quick store decides on one key by itself.
type quick struct {
	weir.MemStore
	asked int
}

func (q *quick) TakeQuickly(p *weir.Plan, key string, n int) (weir.Result, bool) {
	return weir.Result{Allowed: n < 3, Limit: 7, Remaining: n}, p.Name == "name" && key == "quick"
}

func (q *quick) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	q.asked++
	return q.MemStore.Do(ctx, r)
}

// A store whose server has closed the connection may fail with io.EOF. No method passes that on: a
// reader that returns the error would tell that all was read. All else is still found.
func TestErrors_AreNoEndOfAStream(t *testing.T) {
	closed := &net.OpError{Op: "read", Err: io.EOF}
	var store weir.MemStore
	open := true
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Second}, weir.WithStore(
		kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if open {
				return store.Do(ctx, r)
			}
			return weir.Answer{}, closed
		}))))
	ctx := t.Context()
	booked, err := l.Reserve(ctx, "b", 1)
	require.NoError(t, err)
	open = false
	for name, call := range map[string]func() error{
		"Take":            func() error { _, err := l.Take(ctx, "a", 1); return err },
		"TakeUpTo":        func() error { _, _, err := l.TakeUpTo(ctx, "a", 1); return err },
		"TakeByComponent": func() error { _, err := l.TakeByComponent(ctx, "a", 1, nil); return err },
		"Wait":            func() error { return l.Wait(ctx, "a", 1) },
		"Reserve":         func() error { _, err := l.Reserve(ctx, "a", 1); return err },
		"ReserveNow":      func() error { return l.ReserveNow(ctx, "a", 1, new(weir.Reservation), nil) },
		"Return":          func() error { return l.Return(ctx, "a", 1) },
		"Reset":           func() error { return l.Reset(ctx, "a") },
		"Cancel":          func() error { return booked.Cancel(ctx) },
	} {
		err := call()
		var found *net.OpError
		assert.ErrorAs(t, err, &found, name)
		assert.ErrorIs(t, err, closed, name)
		assert.NotErrorIs(t, err, io.EOF, name)
		assert.ErrorContains(t, err, ": read: EOF", name)
	}
}

func TestQuickStore(t *testing.T) {
	store := new(quick)
	l := weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Hour}, weir.WithStore(store), weir.WithName("name")))
	for range 3 {
		assert.True(t, l.Allow("quick"))
		assert.Equal(t, weir.Result{Allowed: true, Limit: 7, Remaining: 2}, kit.Take(t, l, "quick", 2))
		assert.Equal(t, weir.Result{Limit: 7, Remaining: 3}, kit.Take(t, l, "quick", 3))
		assert.Equal(t, weir.Result{Allowed: true, Limit: 7}, kit.Take(t, l, "quick", 0))
	}
	_, err := l.Take(background, "quick", -1)
	require.Error(t, err)
	assert.Zero(t, store.asked)
	assert.True(t, l.Allow("slow"))
	assert.False(t, l.Allow("slow"))
	assert.False(t, kit.Take(t, l, "slow", 1).Allowed)
	_, _, err = l.TakeUpTo(background, "quick", 1)
	require.NoError(t, err)
	assert.Equal(t, 4, store.asked, "where it does not decide, and for all that is not Allow and Take")
}
