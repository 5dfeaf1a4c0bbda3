package redisstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// A caller may be cancelled because another call has had no reply, as with an errgroup. Its own
// error says that it was cancelled, and not that it had no reply for so long.
func TestCancelledBecauseOfAnotherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &fakeClient{process: func(ctx context.Context, _ redis.Cmder) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		s, err := New(client, Options{Timeout: time.Minute})
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(fmt.Errorf("another call: %w", ErrNoReply)) })
		began := time.Now()
		_, err = limiterOn(t, s).Take(ctx, "k", 1)
		assert.Equal(t, 50*time.Millisecond, time.Since(began))
		assert.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, ErrNoReply)
	})
}

// The Timeout is that of all commands of a decision together. Here the script finds the state of
// another policy, which another server has left: its clock was ahead of this one's. How far it was
// must be written first, and the server hangs.
func TestTimeoutOfAllCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		micros := func(at time.Time) []byte { return binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()))[1:] }
		var commands atomic.Int64
		client := &fakeClient{process: func(_ context.Context, cmd redis.Cmder) error {
			if commands.Add(1) > 1 {
				time.Sleep(time.Hour)
			}
			time.Sleep(900 * time.Millisecond)
			b := append([]byte{2}, micros(time.Now())...) // what stands there is of another policy:
			b = binary.AppendUvarint(append(b, 1), 10)    // token-bucket 10/1h
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(time.Hour)), 10)
			b = append(b, micros(time.Now().Add(10*time.Second))...)
			b = append(b, 0, 0, 0, 0, 0, 1, 0)
			cmd.(interface{ SetVal(string) }).SetVal(string(b))
			return nil
		}}
		s, err := New(client, Options{}) // a second
		require.NoError(t, err)
		l := weir.Must(weir.New(weir.FixedWindow{Limit: 20, Per: time.Hour}, weir.WithStore(s), weir.WithName("n")))
		began := time.Now()
		_, err = l.Take(t.Context(), "k", 1)
		assert.Equal(t, time.Second, time.Since(began))
		assert.ErrorIs(t, err, ErrNoReply)
		assert.NotErrorIs(t, err, context.DeadlineExceeded, "the caller has no deadline")
		assert.EqualValues(t, 2, commands.Load())
		time.Sleep(2 * time.Hour)
	})
}
