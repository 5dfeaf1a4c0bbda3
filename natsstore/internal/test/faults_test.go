package test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/natsstore"
	"github.com/weir-go/weir/storetest/faultproxy"
)

// A Swap was executed and its reply is lost. It is not sent again, however many replies would be
// lost. The error comes when the connection breaks, and not at the end of the time.
func TestFaults_RepliesLost(t *testing.T) {
	t.Parallel()
	s, proxy := newProxied(t)
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
		require.ErrorIs(t, err, nats.ErrDisconnected)
		assert.NotErrorIs(t, err, casstore.ErrNoReply)
		assert.Equal(t, weir.Result{}, r, "denied")
		assert.Equal(t, 1, proxy.Lost()-had, "sent once")
		// A server stores what it has got, but not before it closes the connection.
		traffic.Eventually(t, "the Swap", func() bool { return traffic.Counted(t, l, key) > 1 })
		assert.Equal(t, 11, traffic.Counted(t, l, key), "counted once")
	}
}

// While there is no connection, nothing is sent, not even later. Decisions that still have time are
// made when it is back.
func TestFaults_Disconnected(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	proxy := faultproxy.New(t, addr(server), nil)
	disconnected := make(chan struct{})
	once := sync.OnceFunc(func() { close(disconnected) })
	js := connect(t, proxy.Addr(), nats.DisconnectErrHandler(func(*nats.Conn, error) { once() }))
	bucket := newBucket(t, js)
	s := newStore(t, js, bucket)
	short, err := natsstore.New(js, natsstore.Options{Bucket: bucket, Timeout: 20 * time.Millisecond})
	require.NoError(t, err)
	l, impatient := newLimiter(t, s, traffic.Spacious), newLimiter(t, short, traffic.Spacious)
	require.NoError(t, s.Check(t.Context()))
	require.NoError(t, l.Reset(t.Context(), "k"))
	require.Zero(t, traffic.Counted(t, l, "k"))
	proxy.Refuse()
	<-disconnected
	sent := js.Conn().Stats().OutMsgs
	_, err = impatient.Take(t.Context(), "k", 1)
	require.ErrorIs(t, err, casstore.ErrNoReply)
	require.ErrorContains(t, err, "nothing was counted")
	require.Error(t, impatient.Reset(t.Context(), "k"))
	require.ErrorIs(t, short.Check(t.Context()), context.DeadlineExceeded)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = l.Take(ctx, "k", 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, sent, js.Conn().Stats().OutMsgs, "nothing was sent, or kept for later")
	result := make(chan error)
	go func() {
		_, err := l.Take(t.Context(), "k", 1)
		result <- err
	}()
	proxy.Forward()
	require.NoError(t, <-result)
	assert.Equal(t, 1, traffic.Counted(t, l, "k"))

	js.Conn().Close()
	_, err = l.Take(t.Context(), "k", 1)
	assert.ErrorIs(t, err, nats.ErrConnectionClosed)
}

// While nothing answers, callers leave by their deadlines, and without one by the timeout.
func TestFaults_Hang(t *testing.T) {
	t.Parallel()
	proxy := faultproxy.New(t, addr(sharedServer(t)), nil)
	js := connect(t, proxy.Addr())
	bucket := newBucket(t, js)
	impatient, err := natsstore.New(js, natsstore.Options{Bucket: bucket, Timeout: 200 * time.Millisecond})
	require.NoError(t, err)
	l, short := newLimiter(t, newStore(t, js, bucket), traffic.Spacious), newLimiter(t, impatient, traffic.Spacious)
	require.Zero(t, traffic.Counted(t, l, "k"))
	require.NoError(t, impatient.Check(t.Context()))
	proxy.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = l.Take(ctx, "k", 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = short.Take(t.Context(), "k", 1)
	require.ErrorIs(t, err, casstore.ErrNoReply)
	proxy.Forward()
	assert.Zero(t, traffic.Counted(t, l, "k"))
}

// within is the time of a call in traffic.
const within = 200 * time.Millisecond

func TestFaults_InTraffic(t *testing.T) {
	t.Parallel()
	s, proxy := newProxied(t)
	tr := traffic.Drive(t, newLimiter(t, s, traffic.Spacious), within)
	tr.Break(t, proxy, isSwap)
	tr.Check(t)
}

// A server with files that is killed, and started again, has lost nothing.
func TestFaults_Killed(t *testing.T) {
	t.Parallel()
	server := startChild(t)
	js := connect(t, server.port.Addr())
	s := newStore(t, js, newBucket(t, js, func(c *jetstream.StreamConfig) { c.Storage = jetstream.FileStorage }))
	tr := traffic.Drive(t, newLimiter(t, s, traffic.Spacious), within)
	for range runs.Long(3, 1) {
		server.kill()
		tr.AwaitFailed(t)
		server.start(t)
		tr.AwaitServed(t)
	}
	tr.Check(t)
}

// If the bucket was in memory, it is lost with its server, and decisions say so until it is there
// again.
func TestFaults_KilledWithBucketInMemory(t *testing.T) {
	t.Parallel()
	server := startChild(t)
	js := connect(t, server.port.Addr())
	bucket := newBucket(t, js)
	l := newLimiter(t, newStore(t, js, bucket), traffic.Spacious)
	require.True(t, l.Allow("k"))
	server.kill()
	server.start(t)
	var err error
	traffic.Eventually(t, "a reply", func() bool { // the connection may not yet know that it is broken
		_, err = l.Take(t.Context(), "k", 1)
		return !errors.Is(err, nats.ErrDisconnected)
	})
	require.ErrorContains(t, err, "weir: natsstore: there is no bucket "+bucket+": ")
	createBucket(t, js, config(bucket))
	require.Zero(t, traffic.Counted(t, l, "k"))
	require.True(t, l.Allow("k"))
}
