package redisstore_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// On a read-only replica each denial ended the outage, since a denial only reads: of 60 rounds, 60
// reported a failure and 60 an end.
func TestFaults_FallbackOnAReplica(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Single(t), redistest.Single(t)
	policy := weir.TokenBucket{Limit: 1, Per: 1000 * time.Hour}
	on := func(s weir.Store) *weir.KeyedLimiter {
		l, err := weir.New(policy, weir.WithStore(s), weir.WithName(""))
		require.NoError(t, err)
		return l
	}
	take := func(l *weir.KeyedLimiter, key string) weir.Result {
		r, err := l.Take(t.Context(), key, 1)
		require.NoError(t, err)
		return r
	}
	require.True(t, take(on(newStore(t, patientClient(t, master.Addr()))), "used up").Allowed)
	host, port, err := net.SplitHostPort(master.Addr())
	require.NoError(t, err)
	replica.MustDo("REPLICAOF", host, port)
	checks.Eventually(t, "the key to be replicated", func() bool { return replica.MustDo("DBSIZE") == int64(1) })

	var seen outages
	l := on(fleet.Fallback(newStore(t, patientClient(t, replica.Addr())), new(weir.MemStore), fleet.FallbackOptions{
		Budget: time.Minute, CoolDown: 1, Report: seen.report,
	}))
	const rounds = 60
	for range rounds {
		assert.True(t, take(l, "another").Degraded)
		r := take(l, "used up")
		assert.False(t, r.Allowed || r.Degraded, "a denial of the replica counts")
	}
	assert.EqualValues(t, rounds, seen.failures.Load())
	assert.Zero(t, seen.ends.Load())

	replica.MustDo("REPLICAOF", "NO", "ONE")
	assert.False(t, take(l, "used up").Degraded)
	assert.Zero(t, seen.ends.Load())
	assert.False(t, take(l, "another").Degraded)
	assert.EqualValues(t, 1, seen.ends.Load())
}
