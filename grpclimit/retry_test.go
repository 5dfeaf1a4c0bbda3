package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weir-go/weir/grpclimit"
)

func TestRetryAfter(t *testing.T) {
	info := func(seconds int64, nanos int32) error {
		s, err := status.New(codes.ResourceExhausted, "").WithDetails(
			&errdetails.QuotaFailure{}, &errdetails.RetryInfo{}, // one without a time
			&errdetails.RetryInfo{RetryDelay: &durationpb.Duration{Seconds: seconds, Nanos: nanos}})
		require.NoError(t, err)
		return s.Err()
	}
	for want, errs := range map[time.Duration][]error{
		7*time.Second + 1: {info(7, 1), fmt.Errorf("wrapped: %w", info(7, 1))},
		math.MaxInt64:     {info(300_000_000_000, 0)}, // over 292 years
		time.Minute:       {after(codes.Unavailable, time.Minute)},
		0: {
			nil, io.EOF, errors.New("no status"), status.Error(codes.ResourceExhausted, ""),
			after(codes.Internal, time.Minute), after(codes.OK, time.Minute),
			info(-7, 0), info(7, -1), info(7, 2e9), info(math.MaxInt64, 0), // not valid
		},
	} {
		for _, err := range errs {
			assert.Equal(t, want, grpclimit.RetryAfter(err), "%v", err)
		}
	}
}

// What another interceptor returns in place of a stream counts, too.
func TestClient_LearnsFromAStreamThatDoesNotOpen(t *testing.T) {
	cc, err := grpc.NewClient("passthrough:///shop.example", grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { _ = cc.Close() }()
	c := &grpclimit.ClientInterceptor{Limiter: limiter(freely), Key: one}
	want := after(codes.ResourceExhausted, time.Minute)
	refuse := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return nil, want
	}
	_, err = c.Stream()(context.Background(), &grpc.StreamDesc{}, cc, "/s/M", refuse)
	assert.Equal(t, want, err)
	assert.NotZero(t, c.HeldUntil("one"))
}
