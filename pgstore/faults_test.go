package pgstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/pgstore"
	"github.com/weir-go/weir/pgstore/internal/test/pgtest"
)

// A Swap was executed and its reply is lost. It is not sent again, however many replies would be lost.
func TestFaults_RepliesLost(t *testing.T) {
	t.Parallel()
	s, proxy := newProxied(t, pgtest.Shared(t))
	l := newLimiter(t, s, spacious)
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
		assert.Equal(t, 11, counted(t, l, key), "counted once")
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
	l, short := newLimiter(t, s, spacious), newLimiter(t, impatient, spacious)
	require.Zero(t, counted(t, l, "k"))
	proxy.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := l.Take(ctx, "k", 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = short.Take(t.Context(), "k", 1)
	require.ErrorIs(t, err, casstore.ErrNoReply)
	proxy.Forward()
	assert.LessOrEqual(t, counted(t, l, "k"), 1)
	assert.LessOrEqual(t, counted(t, short, "k"), 1)
}

// traffic is callers that keep asking for one event, and their answers by key.
type traffic struct {
	limiter         *weir.KeyedLimiter
	granted, failed [4]atomic.Int64
	halt            context.CancelFunc
	callers         sync.WaitGroup
}

func drive(t *testing.T, s *pgstore.Store) *traffic {
	ctx, cancel := context.WithCancel(t.Context())
	tr := &traffic{limiter: newLimiter(t, s, spacious), halt: cancel}
	t.Cleanup(tr.stop)
	for i := range 16 {
		tr.callers.Go(func() {
			for ; ctx.Err() == nil; i++ {
				tr.call(t, i%len(tr.granted))
				time.Sleep(time.Millisecond)
			}
		})
	}
	tr.awaitServed(t)
	return tr
}

func (tr *traffic) call(t *testing.T, i int) {
	r, err := tr.limiter.Take(t.Context(), fmt.Sprint(i), 1)
	switch {
	case err != nil:
		tr.failed[i].Add(1)
	case r.Allowed:
		tr.granted[i].Add(1)
	}
}

func (tr *traffic) stop() {
	tr.halt()
	tr.callers.Wait()
}

func sum(of *[4]atomic.Int64) (n int64) {
	for i := range of {
		n += of[i].Load()
	}
	return n
}

// awaitServed waits for some grants, all but the first few of which began after now.
func (tr *traffic) awaitServed(t *testing.T) {
	before := sum(&tr.granted)
	eventually(t, "grants", func() bool { return sum(&tr.granted) > before+20 })
}

func (tr *traffic) awaitFailed(t *testing.T) {
	before := sum(&tr.failed)
	eventually(t, "failures", func() bool { return sum(&tr.failed) > before })
}

// check stops the traffic. The table has counted what was granted, and of the calls that failed each
// once at most.
func (tr *traffic) check(t *testing.T) {
	tr.stop()
	for i := range tr.granted {
		n, granted, failed := counted(t, tr.limiter, fmt.Sprint(i)), tr.granted[i].Load(), tr.failed[i].Load()
		assert.GreaterOrEqual(t, int64(n), granted, "key %d: counted of those granted", i)
		assert.LessOrEqual(t, int64(n), granted+failed, "key %d: counted of those granted or failed", i)
	}
	t.Logf("%d granted, %d failed", sum(&tr.granted), sum(&tr.failed))
}

func TestFaults_InTraffic(t *testing.T) {
	t.Parallel()
	s, proxy := newProxied(t, pgtest.Shared(t))
	tr := drive(t, s)
	for range runs.Long(10, 3) {
		proxy.Refuse() // cuts all connections
		tr.awaitFailed(t)
		proxy.Forward()
		tr.awaitServed(t)
		had := proxy.Lost()
		proxy.LoseReplies(3, isSwap)
		eventually(t, "replies to be lost", func() bool { return proxy.Lost() == had+3 })
		tr.awaitServed(t)
	}
	tr.check(t)
}

func TestFaults_KilledAndRestarted(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := newStore(t, newPool(t, server.URL(server.Addr())), newTable())
	require.NoError(t, s.CreateTable(t.Context()))
	tr := drive(t, s)
	for range runs.Long(3, 1) {
		server.Kill()
		tr.awaitFailed(t)
		server.Restart(t)
		tr.awaitServed(t)
	}
	tr.check(t)
}
