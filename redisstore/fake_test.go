package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// A fakeClient passes each command to its function process.
type fakeClient struct {
	process func(ctx context.Context, cmd redis.Cmder) error
	reloads atomic.Int64
}

func (c *fakeClient) Process(ctx context.Context, cmd redis.Cmder) error { return c.process(ctx, cmd) }
func (c *fakeClient) ReloadState(context.Context)                        { c.reloads.Add(1) }

func limiterOn(tb testing.TB, s weir.Store) *weir.KeyedLimiter {
	l, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Hour}, weir.WithStore(s), weir.WithName(""))
	require.NoError(tb, err)
	return l
}

// P22: a client that hangs, whatever the context says, holds up a caller until its deadline, or for
// the time allowed; and no more commands than allowed are under way.
func TestP22_HangingClientHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang, underWay := make(chan struct{}), atomic.Int64{}
		client := &fakeClient{process: func(context.Context, redis.Cmder) error {
			underWay.Add(1)
			defer underWay.Add(-1)
			<-hang
			return errors.New("late")
		}}
		s, err := New(client, Options{Timeout: 300 * time.Millisecond, MaxInFlight: 5})
		require.NoError(t, err)
		l := limiterOn(t, s)

		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err = l.Take(ctx, "k", 1)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 50*time.Millisecond, time.Since(began))

		errs := make(chan error)
		began = time.Now()
		for range 50 {
			go func() {
				_, err := l.Take(context.Background(), "k", 1)
				errs <- err
			}()
		}
		noReply, busy := 0, 0
		for range 50 {
			switch err := <-errs; {
			case errors.Is(err, ErrNoReply):
				noReply++
			case errors.Is(err, ErrBusy):
				busy++
			default:
				t.Errorf("unexpected: %v", err)
			}
		}
		assert.Equal(t, 300*time.Millisecond, time.Since(began))
		assert.Equal(t, 4, noReply, "the fifth place is taken by the call before")
		assert.Equal(t, 46, busy)
		assert.Equal(t, int64(5), underWay.Load())
		assert.False(t, l.Allow("k"), "a store that is down denies")
		close(hang)
	})
}

// The time that a caller has waited for its turn to send is missing from its time for the reply.
func TestTimeoutIsThatOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &fakeClient{process: func(context.Context, redis.Cmder) error {
			time.Sleep(350 * time.Millisecond)
			return errors.New("late")
		}}
		s, err := New(client, Options{Timeout: 500 * time.Millisecond, MaxInFlight: 1})
		require.NoError(t, err)
		l := limiterOn(t, s)
		go l.Allow("k")
		synctest.Wait()
		began := time.Now()
		_, err = l.Take(context.Background(), "k", 1)
		assert.ErrorIs(t, err, ErrNoReply)
		assert.Equal(t, 500*time.Millisecond, time.Since(began))
		time.Sleep(time.Second)
	})
}

// A command for which nobody waits any more is not sent, if it still waits for a connection.
func TestGivenUpCommandIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 2)
		client := &fakeClient{process: func(ctx context.Context, _ redis.Cmder) error {
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}}
		s, err := New(client, Options{})
		require.NoError(t, err)
		l := limiterOn(t, s)
		_, err = l.Take(context.Background(), "k", 1)
		assert.ErrorIs(t, err, ErrNoReply)
		assert.ErrorIs(t, <-ended, context.Canceled)

		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Millisecond, cancel)
		_, err = l.Take(ctx, "k", 1)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, <-ended, context.Canceled)
	})
}

// After errors that another master may mend, the topology is reloaded, but not with each of them.
func TestTopologyIsReloaded(t *testing.T) {
	dead := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, c := range []struct {
		err     error
		reloads int64
	}{
		{dead, 5},
		{replyError("CLUSTERDOWN The cluster is down"), 5},
		{replyError("READONLY You can't write against a read only replica."), 5},
		{replyError("ERR something else"), 0},
		{replyError("WRONGTYPE Operation against a key"), 0},
		{context.Canceled, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &fakeClient{process: func(context.Context, redis.Cmder) error { return c.err }}
			s, err := New(client, Options{})
			require.NoError(t, err)
			l := limiterOn(t, s)
			for range 100 {
				_, err := l.Take(context.Background(), "k", 1)
				assert.ErrorIs(t, err, c.err)
				time.Sleep(reloadEvery / 20)
			}
			assert.Equal(t, c.reloads, client.reloads.Load(), "%v", c.err)
		})
	}
}

// A replyError is one that Redis replied with.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

// A command tells the client not to send it again, and which of its arguments is the key.
func TestCommandIsSentOnce(t *testing.T) {
	var sent []redis.Cmder
	client := &fakeClient{process: func(_ context.Context, cmd redis.Cmder) error {
		sent = append(sent, cmd)
		return replyError("NOSCRIPT No matching script.")
	}}
	s, err := New(client, Options{})
	require.NoError(t, err)
	_, err = limiterOn(t, s).Take(context.Background(), "k", 1)
	assert.ErrorContains(t, err, "NOSCRIPT")
	require.Len(t, sent, 2, "EVALSHA, and then EVAL, and no more")
	assert.Equal(t, "evalsha", sent[0].Name())
	assert.Equal(t, "eval", sent[1].Name())
	for _, cmd := range sent {
		assert.True(t, cmd.NoRetry())
		assert.Equal(t, "weir:1:{:k}", cmd.Args()[3])
	}
}

// A state that others change each time before it can be replaced is no reason to try for ever.
func TestAttemptsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		swaps := 0
		client := &fakeClient{process: func(_ context.Context, cmd redis.Cmder) error {
			if len(cmd.Args()) == 7 { // the old value, the new one, and its time to live
				swaps++
			}
			cmd.(*once).SetVal("\x02\x06\x0a\x24\x18\x1e\x40\x00") // an instant, and no value
			return nil
		}}
		s, err := New(client, Options{Timeout: time.Hour})
		require.NoError(t, err)
		l, err := weir.New(inGo{weir.TokenBucket{Limit: 100, Per: time.Hour}}, weir.WithStore(s), weir.WithName(""))
		require.NoError(t, err)
		_, err = l.Take(context.Background(), "k", 1)
		assert.ErrorContains(t, err, "another request changed the value under each of 100 attempts")
		assert.ErrorIs(t, err, weir.ErrRequest)
		assert.Equal(t, 100, swaps)

		s, err = New(client, Options{Timeout: 20 * time.Millisecond})
		require.NoError(t, err)
		l, err = weir.New(inGo{weir.TokenBucket{Limit: 100, Per: time.Hour}}, weir.WithStore(s), weir.WithName(""))
		require.NoError(t, err)
		began := time.Now()
		_, err = l.Take(context.Background(), "k", 1)
		assert.ErrorIs(t, err, ErrBusy)
		assert.ErrorIs(t, err, weir.ErrRequest)
		assert.Less(t, time.Since(began), 40*time.Millisecond)
	})
}

func TestFaultsOfNew(t *testing.T) {
	_, err := New(nil, Options{Timeout: -1, MaxInFlight: -2, MaxKeyLen: -3, Prefix: "a{b"})
	assert.EqualError(t, err, `weir: redisstore.New without a client
weir: redisstore.Options.MaxKeyLen is -3, must be at least 0
weir: redisstore.Options.Timeout is -1ns, must be at least 0
weir: redisstore.Options.MaxInFlight is -2, must be at least 0
weir: redisstore.Options.Prefix is "a{b" with a '{', must be printable ASCII without spaces and * ? [ ] { } % \`)
	var none *redis.Client
	_, err = New(none, Options{})
	assert.ErrorContains(t, err, "without a client")
	for _, c := range []Client{redis.NewClusterClient(&redis.ClusterOptions{}), redis.NewRing(&redis.RingOptions{})} {
		_, err := New(c, Options{SingleServer: true})
		assert.EqualError(t, err, fmt.Sprintf("weir: redisstore.Options.SingleServer with a %T, must be the client of a single server", c))
	}
}

// A pipeline keeps what it is given until others send it, so that each decision failed.
func TestPipelineIsNoClient(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	for _, c := range []Client{client.Pipeline(), client.TxPipeline()} {
		_, err := New(c, Options{Timeout: -1})
		assert.ErrorContains(t, err, "weir: redisstore.New with a *redis.Pipeline, must be a client that sends each command at once, "+
			"such as a *redis.Client, a *redis.ClusterClient or a *redis.Ring")
		assert.ErrorContains(t, err, "Timeout is -1ns")
	}
}

func TestStrangeReplies(t *testing.T) {
	for _, reply := range []string{"", "\x01", "\x07xxxxxxx", "\x01xxxxxxx"} {
		client := &fakeClient{process: func(_ context.Context, cmd redis.Cmder) error {
			cmd.(*once).SetVal(reply)
			return nil
		}}
		s, err := New(client, Options{})
		require.NoError(t, err)
		_, err = limiterOn(t, s).Take(context.Background(), "k", 1)
		assert.ErrorContains(t, err, "not one that it gives", "%q", reply)
	}
}

// A server whose scripts cut off numbers at 32 bits would limit nothing: its clock would always
// have stepped back.
func TestServerOf32Bits(t *testing.T) {
	for _, now := range []string{"\x00\x00\x00\x00\x00\x00\x01", "\x00\x00\x00\xff\xff\xff\xff"} {
		client := &fakeClient{process: func(_ context.Context, cmd redis.Cmder) error {
			cmd.(*once).SetVal("\x01" + now + "\x00\x00\x00\x00\x00\x00\x00")
			return nil
		}}
		s := newStore(t, client)
		for _, l := range []*weir.KeyedLimiter{limiterOn(t, s), newLimiter(t, s, unscripted, "")} {
			r, err := l.Take(context.Background(), "k", 1)
			assert.ErrorContains(t, err, "a 64-bit Redis is needed")
			assert.NotErrorIs(t, err, weir.ErrRequest)
			assert.False(t, r.Allowed)
		}
	}
}
