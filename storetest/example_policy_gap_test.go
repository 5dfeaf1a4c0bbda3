package storetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// A stoppedClock shows what it was set to.
type stoppedClock struct{ time.Time }

func (c *stoppedClock) Now() time.Time                     { return c.Time }
func (*stoppedClock) After(time.Duration) <-chan time.Time { return nil }

// R16: the policy that others copy gives back no event of a later grant.
func TestR16_GapGivesBackWhatTheGrantCounts(t *testing.T) {
	ctx, clock := context.Background(), &stoppedClock{time.Unix(1_700_000_000, 0)}
	l := weir.Must(weir.New(Gap{Between: 10 * time.Second}, weir.WithClock(clock)))
	first, err := l.Reserve(ctx, "k", 1)
	require.NoError(t, err)
	clock.Time = clock.Add(20 * time.Second)
	second, err := l.Reserve(ctx, "k", 1)
	require.NoError(t, err)
	require.True(t, second.Allowed)
	clock.Time = clock.Add(5 * time.Second)
	require.NoError(t, first.Cancel(ctx))
	assert.False(t, l.Allow("k"), "the second still counts")
	require.NoError(t, second.Cancel(ctx))
	assert.True(t, l.Allow("k"))
}

// R9: the policy that others copy denies for as long as a time can tell, also at an instant before
// that of the grant.
func TestR9_GapDeniesForLong(t *testing.T) {
	d, err := Gap{Between: weir.Never}.Decider()
	require.NoError(t, err)
	state, a := d.Decide(make([]uint64, d.Words()), 100, weir.Ask{N: 1})
	require.True(t, a.Allowed)
	_, a = d.Decide(state, 50, weir.Ask{N: 1})
	assert.Equal(t, weir.Result{Limit: 1, RetryAfter: weir.Never, ResetAfter: weir.Never}, a.Result)
}
