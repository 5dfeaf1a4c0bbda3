package grpclimit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/grpclimit"
)

// Calls over the limit wait for their turns, within MaxWait and their own deadlines.
func TestServer_MaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := limitTo(weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1})))
		limit.MaxWait = 2500 * time.Millisecond
		cc, stop := start(limit, service{})
		defer stop()
		c := pb.NewTestServiceClient(cc)
		require.NoError(t, empty(c))

		begin := time.Now()
		within := func(d time.Duration) error {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			_, err := c.EmptyCall(ctx, &pb.Empty{})
			return err
		}
		retry, _ := details(t, within(900*time.Millisecond))
		assert.Equal(t, time.Second, retry.GetRetryDelay().AsDuration(), "it would have no time left after a wait")
		assert.Zero(t, time.Since(begin), "refused at once")

		type answer struct {
			at   time.Duration
			code codes.Code
		}
		answers := make(chan answer, 4)
		for range 4 {
			go func() {
				err := empty(c)
				answers <- answer{time.Since(begin), status.Code(err)}
			}()
		}
		var all []answer
		for range 4 {
			all = append(all, <-answers)
		}
		assert.ElementsMatch(t, []answer{
			{0, codes.ResourceExhausted}, {0, codes.ResourceExhausted}, {time.Second, codes.OK}, {2 * time.Second, codes.OK},
		}, all)
	})
}

// A call that its client cancels leaves the queue, and gives its place back.
func TestServer_MaxWaitCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := limitTo(weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1})))
		limit.MaxWait = time.Minute
		observed := make(chan grpclimit.Decision, 2)
		limit.Observe = func(_ context.Context, _ grpclimit.Call, d grpclimit.Decision) { observed <- d }
		cc, stop := start(limit, service{})
		defer stop()
		c := pb.NewTestServiceClient(cc)
		require.NoError(t, empty(c))
		assert.True(t, (<-observed).Result.Allowed)

		begin := time.Now()
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _, _ = c.EmptyCall(ctx, &pb.Empty{}) }()
		synctest.Wait()
		second := make(chan error)
		go func() { second <- empty(c) }()
		synctest.Wait()
		cancel()
		d := <-observed
		assert.ErrorIs(t, d.Err, context.Canceled)
		require.NoError(t, <-second)
		assert.Equal(t, time.Second, time.Since(begin), "it moves up")
	})
}

// The status of a call that has ended says so.
func TestServer_Ended(t *testing.T) {
	l, _ := frozen(per(9, time.Minute))
	unary := limitTo(l).Unary()
	handler := func(context.Context, any) (any, error) { return nil, errors.New("called") }
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := unary(ctx, nil, &grpc.UnaryServerInfo{}, handler)
	assert.Equal(t, codes.Canceled, status.Code(err))
	late, cancel := context.WithTimeout(context.Background(), -1)
	defer cancel()
	_, err = unary(late, nil, &grpc.UnaryServerInfo{}, handler)
	assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
}

// The retries of grpc-go wait as long as the trailer says.
func TestServer_RetriesOfClientsObey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc, stop := start(limitTo(weir.Must(weir.New(per(1, time.Minute)))), service{}, grpc.WithDefaultServiceConfig(`{
			"methodConfig": [{"name": [{}], "retryPolicy": {
				"maxAttempts": 2, "initialBackoff": "0.1s", "maxBackoff": "0.1s", "backoffMultiplier": 1,
				"retryableStatusCodes": ["RESOURCE_EXHAUSTED"]
			}}]
		}`))
		defer stop()
		c := pb.NewTestServiceClient(cc)
		begin := time.Now()
		require.NoError(t, empty(c))
		require.NoError(t, empty(c))
		assert.Equal(t, time.Minute, time.Since(begin))
	})
}

// Concurrent calls, and the messages of concurrent streams, get exactly what the limit allows.
func TestR10_ConcurrentCalls(t *testing.T) {
	l, clock := frozen(per(100, time.Minute))
	limit := limitTo(l)
	limit.Messages = true
	c := dial(t, limit)
	for name, call := range map[string]func() int{
		"unary": func() int {
			if empty(c) == nil {
				return 1
			}
			return 0
		},
		"messages": func() int {
			n, _ := send(t, c, 1, 0)
			return n
		},
	} {
		clock.Add(time.Minute)
		var granted atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 20 {
					granted.Add(int64(call()))
				}
			})
		}
		wg.Wait()
		assert.EqualValues(t, 100, granted.Load(), name)
	}
}
