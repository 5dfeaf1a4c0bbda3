package grpclimit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/grpclimit"
)

// send sends n messages on a stream, each with a payload of size bytes, and returns how many the
// server has counted.
func send(t *testing.T, c pb.TestServiceClient, n, size int) (int, error) {
	t.Helper()
	stream, err := c.StreamingInputCall(context.Background())
	require.NoError(t, err)
	for range n {
		if stream.Send(&pb.StreamingInputCallRequest{Payload: &pb.Payload{Body: make([]byte, size)}}) != nil {
			break // the status comes below
		}
	}
	r, err := stream.CloseAndRecv()
	return int(r.GetAggregatedPayloadSize()), err
}

func TestServer_StreamCountsOnce(t *testing.T) {
	l, _ := frozen(per(2, time.Minute))
	c := dial(t, limitTo(l))
	for range 2 {
		n, err := send(t, c, 10, 0)
		require.NoError(t, err)
		assert.Equal(t, 10, n)
	}
	_, err := send(t, c, 10, 0)
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	retry, _ := details(t, err)
	assert.Equal(t, time.Minute, retry.GetRetryDelay().AsDuration())
}

func TestServer_MessagesCount(t *testing.T) {
	for _, hide := range []bool{false, true} { // whether the handler hides the status
		l, clock := frozen(per(5, time.Minute))
		limit := limitTo(l)
		limit.Messages = true
		var reached int
		cc, stop := start(limit, service{hide: hide, received: func(*pb.StreamingInputCallRequest) { reached++ }})
		defer stop()
		c := pb.NewTestServiceClient(cc)
		n, err := send(t, c, 3, 0)
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		_, err = send(t, c, 3, 0)
		assert.Equal(t, codes.ResourceExhausted, status.Code(err), "hide: %v", hide)
		retry, _ := details(t, err)
		assert.Equal(t, time.Minute, retry.GetRetryDelay().AsDuration())
		assert.Equal(t, 5, reached)

		clock.Add(time.Minute)
		_, err = send(t, c, 5, 0)
		assert.NoError(t, err)
	}
}

func TestServer_MessagesCost(t *testing.T) {
	l, _ := frozen(per(100, time.Minute))
	limit := limitTo(l)
	limit.Messages = true
	limit.Cost = func(_ context.Context, c grpclimit.Call) int {
		return len(c.Message.(*pb.StreamingInputCallRequest).GetPayload().GetBody())
	}
	c := dial(t, limit)
	_, err := send(t, c, 10, 0)
	require.NoError(t, err, "what costs nothing is not limited")
	_, err = send(t, c, 10, 10)
	require.NoError(t, err)
	_, err = send(t, c, 1, 1)
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
}

// With MaxWait, messages are read no faster than the limit allows.
func TestServer_MessagesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := limitTo(weir.Must(weir.New(weir.LeakyBucket{Limit: 10, Per: time.Second})))
		limit.Messages, limit.MaxWait = true, time.Second
		begin := time.Now()
		var at []time.Duration
		cc, stop := start(limit, service{received: func(*pb.StreamingInputCallRequest) { at = append(at, time.Since(begin)) }})
		defer stop()
		n, err := send(t, pb.NewTestServiceClient(cc), 4, 0)
		require.NoError(t, err)
		assert.Equal(t, 4, n)
		assert.Equal(t, []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}, at)
	})
}

// A stream without a key fails when it is opened, or goes ahead unlimited by choice.
func TestServer_MessagesWithoutKey(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	limit := limitTo(l)
	limit.Messages, limit.Key = true, grpclimit.Metadata("api-key")
	_, err := send(t, dial(t, limit), 1, 0)
	assert.Equal(t, codes.InvalidArgument, status.Code(err))

	limit.Failed = func(_ context.Context, _ grpclimit.Call, err error) error {
		assert.ErrorIs(t, err, grpclimit.ErrNoKey)
		return nil
	}
	n, err := send(t, dial(t, limit), 3, 0)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
}

func TestServer_MessagesNoDecision(t *testing.T) {
	limit := limitTo(broken)
	limit.Messages = true
	_, err := send(t, dial(t, limit), 1, 0)
	assert.Equal(t, codes.Unavailable, status.Code(err))
	limit.Failed = func(context.Context, grpclimit.Call, error) error { return nil }
	n, err := send(t, dial(t, limit), 3, 0)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
}
