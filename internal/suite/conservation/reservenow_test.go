package conservation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

var ctx = context.Background()

// ReserveNow answers and charges as TakeByComponent does, and what it has booked can be settled and
// cancelled exactly. The Reservation and the slice are used again.
func TestReserveNow_TakesWhatCanBeGivenBack(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		var r weir.Reservation
		var parts, wantParts []weir.Result
		for _, test := range []struct{ estimate, actual int }{{4, 4}, {4, 1}, {4, 6}, {4, 0}, {0, 3}, {7, 6}} {
			l, _ := kit.Frozen(p)
			want, _ := kit.Frozen(p)
			require.NoError(t, l.ReserveNow(ctx, "k", test.estimate, &r, &parts))
			result, err := want.TakeByComponent(ctx, "k", test.estimate, &wantParts)
			require.NoError(t, err)
			assert.Equal(t, result, r.Result)
			assert.Equal(t, wantParts, parts)
			assert.Equal(t, kit.Take(t, want, "k", 0), kit.Take(t, l, "k", 0))
			require.NoError(t, r.Settle(ctx, test.actual))

			want, _ = kit.Frozen(p)
			kit.Take(t, want, "k", test.actual)
			assert.Equal(t, kit.Take(t, want, "k", 0), kit.Take(t, l, "k", 0), "%+v", test)
		}
	})
}

// It books nothing ahead: Reserve without a deadline would.
func TestReserveNow_DeniesWhatReserveBooksAhead(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: time.Minute}, weir.LeakyBucket{Limit: 1, Per: time.Minute, Capacity: 9},
	} {
		l, clock := kit.Frozen(p)
		var r weir.Reservation
		require.NoError(t, l.ReserveNow(ctx, "k", 1, &r, nil))
		assert.True(t, r.Allowed)
		require.NoError(t, l.ReserveNow(ctx, "k", 1, &r, nil))
		assert.False(t, r.Allowed)
		assert.Equal(t, time.Minute, r.RetryAfter)
		assert.Equal(t, weir.Never, r.Delay())
		clock.Time = clock.Add(time.Minute)
		assert.True(t, l.Allow("k"), "%v: the denial booked nothing", p)
		ahead := kit.Reserve(t, l, 1)
		assert.True(t, ahead.Allowed, "%v", p)
	}
}

func TestReserveNow_Errors(t *testing.T) {
	l, _ := kit.Frozen(weir.All(weir.TokenBucket{Limit: 1, Per: time.Minute}))
	ended, end := context.WithCancel(ctx)
	end()
	parts := make([]weir.Result, 3)
	for _, test := range []struct {
		l    *weir.KeyedLimiter
		ctx  context.Context
		n    int
		says string
	}{
		{l, ctx, -1, "ReserveNow of -1 events, must be at least 0"},
		{l, ended, 1, "context canceled"},
		{nil, ctx, 1, "nil or zero"},
		{weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Minute}, weir.WithStore(kit.StoreFunc(
			func(context.Context, weir.Request) (weir.Answer, error) { return weir.Answer{}, kit.ErrStore },
		)))), ctx, 1, kit.ErrStore.Error()},
	} {
		var r weir.Reservation
		require.NoError(t, l.ReserveNow(ctx, "other", 1, &r, nil)) // to be overwritten
		require.ErrorContains(t, test.l.ReserveNow(test.ctx, "k", test.n, &r, &parts), test.says)
		assert.Zero(t, r.Result)
		assert.Empty(t, parts)
		require.Error(t, r.Cancel(ctx))
		require.NoError(t, l.Reset(ctx, "other"))
	}
	assert.True(t, l.Allow("k"), "nothing was counted")
}
