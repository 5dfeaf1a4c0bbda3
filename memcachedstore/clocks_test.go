package memcachedstore_test

import (
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
)

// The clock of one process is three seconds ahead. That process takes what a key earns, before the
// other may. Together they take no more than the policy grants in three seconds more. When it no
// longer asks, the other waits for three seconds more.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	const apart, span = 3, 10 // seconds
	policy := weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 5}
	store, name := newStore(t, newClient(t, memcachedtest.Shared(t).Addr())), newName()
	now, ahead := clock.NewMock(), clock.NewMock()
	now.Set(time.Now())
	ahead.Set(now.Now().Add(apart * time.Second))
	// take takes all that there is, and returns how much.
	take := func(c *clock.Mock) int {
		l, err := weir.New(policy, weir.WithStore(store), weir.WithName(name), weir.WithClock(c))
		require.NoError(t, err)
		n, _, err := l.TakeUpTo(t.Context(), "k", 100)
		require.NoError(t, err)
		return n
	}
	all := take(now)
	for range span {
		now.Add(time.Second)
		ahead.Add(time.Second)
		all += take(ahead)
		assert.Zero(t, take(now), "the other was before")
	}
	assert.Equal(t, policy.Burst+span+apart, all)
	for range apart {
		now.Add(time.Second)
		assert.Zero(t, take(now), "its clock must catch up")
	}
	now.Add(time.Second)
	assert.Equal(t, 1, take(now))
}
