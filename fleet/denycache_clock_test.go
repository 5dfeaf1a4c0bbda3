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
