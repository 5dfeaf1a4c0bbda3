package pgstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/pgstore/internal/test/pgtest"
)

// A Swap was executed and its reply is lost. It is not sent again, however many replies would be
// lost.
func TestFaults_RepliesLost(t *testing.T) {
	t.Parallel()
	s, proxy := newProxied(t, pgtest.Shared(t))
	l := newLimiter(t, s, traffic.Spacious)
	for i, losses := range []int{1, 3, 10} {
		key := fmt.Sprint("k", i)
		r, err := l.Take(t.Context(), key, 1)
		require.NoError(t, err)
		require.True(t, r.Allowed)
		had := proxy.Lost()
		proxy.LoseReplies(losses, isSwap)
		r, err = l.Take(t.Context(), key, 10)
		proxy.LoseReplies(0, nil)
		require.Error(t, err)
		assert.Equal(t, weir.Result{}, r, "denied")
		assert.Equal(t, 1, proxy.Lost()-had, "sent once")
		assert.Equal(t, 11, traffic.Counted(t, l, key), "counted once")
	}
}

// While nothing answers, callers leave by their deadlines, and without one by the timeout.
func TestFaults_Hang(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	s, proxy := newProxied(t, server)
	o := newTable()
	o.Timeout = 200 * time.Millisecond
	impatient := newStore(t, newPool(t, server.URL(proxy.Addr())), o)
	require.NoError(t, impatient.CreateTable(t.Context()))
	l, short := newLimiter(t, s, traffic.Spacious), newLimiter(t, impatient, traffic.Spacious)
	require.Zero(t, traffic.Counted(t, l, "k"))
	proxy.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := l.Take(ctx, "k", 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = short.Take(t.Context(), "k", 1)
	require.ErrorIs(t, err, casstore.ErrNoReply)
	proxy.Forward()
	assert.LessOrEqual(t, traffic.Counted(t, l, "k"), 1)
	assert.LessOrEqual(t, traffic.Counted(t, short, "k"), 1)
}

func TestFaults_InTraffic(t *testing.T) {
	t.Parallel()
	s, proxy := newProxied(t, pgtest.Shared(t))
	tr := traffic.Drive(t, newLimiter(t, s, traffic.Spacious), traffic.Patience)
	tr.Break(t, proxy, isSwap)
	tr.Check(t)
}

func TestFaults_KilledAndRestarted(t *testing.T) { // not parallel: it kills the server of all
	server := pgtest.Shared(t)
	s := newStore(t, newPool(t, server.URL(server.Addr())), newTable())
	require.NoError(t, s.CreateTable(t.Context()))
	tr := traffic.Drive(t, newLimiter(t, s, traffic.Spacious), traffic.Patience)
	for range runs.Long(3, 1) {
		server.Kill()
		tr.AwaitFailed(t)
		server.Restart(t)
		tr.AwaitServed(t)
	}
	tr.Check(t)
}
