package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A serverStore decides by a clock of its own.
type serverStore struct{ weir.MemStore }

func (s *serverStore) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	a, err := s.MemStore.Do(ctx, r)
	a.ServerTime = true
	return a, err
}

// A limiter takes At for the instant of the decision by its own clock, unless ServerTime is set. A
// DenyCache must not change that of the store behind it.
func TestDenyCache_TellsTheInstantOfItsOwnAnswersOnly(t *testing.T) {
	mock := clock.NewMock()
	plan := planOf(weir.SlidingLog{Limit: 1, Per: time.Second}, weir.WithClock(mock))
	cache := fleet.DenyCache(new(serverStore), fleet.DenyCacheOptions{})
	ask := func() weir.Answer {
		a, err := cache.Do(context.Background(), weir.Request{Plan: plan, Key: "k", Ask: weir.Ask{N: 1}})
		require.NoError(t, err)
		return a
	}
	a := ask()
	assert.True(t, a.Allowed && a.ServerTime)
	a = ask()
	assert.True(t, !a.Allowed && a.ServerTime, "by the store")
	mock.Add(time.Millisecond)
	a = ask()
	assert.False(t, a.Allowed || a.ServerTime, "from memory")
	assert.Equal(t, mock.Now().UnixNano(), a.At)
	mock.Add(time.Second)
	a = ask()
	assert.True(t, a.Allowed && a.ServerTime, "by the store: what is remembered is over")
}

// A store may deny more events than its Limit for a time only, as Shares do that are about to grow.
// The key itself may have recovered before.
func TestDenyCache_OfALimitThatGrows(t *testing.T) {
	mock := clock.NewMock()
	denied := weir.Result{Limit: 2, Remaining: 2, RetryAfter: 10 * time.Second, ResetAfter: time.Second}
	c := fleet.DenyCache(kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) {
		return weir.Answer{Result: denied}, nil
	}), fleet.DenyCacheOptions{})
	l := weir.Must(weir.New(weir.SlidingLog{Limit: 10, Per: 10 * time.Second}, weir.WithStore(c), weir.WithClock(mock)))
	assert.Equal(t, denied, kit.Take(t, l, "k", 5))
	mock.Add(3 * time.Second)
	want := denied
	want.RetryAfter, want.ResetAfter = 7*time.Second, 0
	assert.Equal(t, want, kit.Take(t, l, "k", 5))
	assert.Equal(t, want, kit.Take(t, l, "k", 6), "the store has not said when, but it may be")
	assert.Equal(t, want, kit.Take(t, l, "k", 10))
	want.RetryAfter = weir.Never
	assert.Equal(t, want, kit.Take(t, l, "k", 11))
}

// A request for more events than fit now is denied for as long as one for fewer, and not for ever,
// if the policy has room for it at another time.
func TestR3_DenyCacheKnowsWhatNeverFits(t *testing.T) {
	mock := clock.NewMock()
	shares := fleet.NewShares(new(weir.MemStore))
	for name, c := range map[string]struct {
		policy weir.Policy
		store  weir.Store
	}{
		"a process that has no share yet":     {weir.SlidingLog{Limit: 10, Per: time.Hour}, shares},
		"a policy with a larger limit by day": {kit.Hourly(10, 1), new(weir.MemStore)},
	} {
		store := fleet.DenyCache(c.store, fleet.DenyCacheOptions{})
		l := weir.Must(weir.New(c.policy, weir.WithStore(store), weir.WithClock(mock), weir.WithName(name)))
		l.Allow("k")
		denied := kit.Take(t, l, "k", 1)
		assert.NotEqual(t, weir.Never, denied.RetryAfter, name)
		assert.Equal(t, denied.RetryAfter, kit.Take(t, l, "k", 10).RetryAfter, name)
		assert.Equal(t, weir.Never, kit.Take(t, l, "k", 11).RetryAfter, name)
	}
}
