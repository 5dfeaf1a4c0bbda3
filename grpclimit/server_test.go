package grpclimit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/grpclimit"
)

func TestServer_Denied(t *testing.T) {
	l, clock := frozen(per(2, time.Minute))
	limit := limitTo(l)
	limit.Policy = per(2, time.Minute)
	c := dial(t, limit)
	require.NoError(t, empty(c))
	require.NoError(t, empty(c))
	clock.Add(1500 * time.Microsecond)

	var trailer metadata.MD
	err := empty(c, grpc.Trailer(&trailer))
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	assert.Equal(t, "too many requests, try again after the time in RetryInfo", status.Convert(err).Message())
	retry, quota := details(t, err)
	assert.Equal(t, time.Minute-1500*time.Microsecond, retry.GetRetryDelay().AsDuration())
	require.Len(t, quota.GetViolations(), 1)
	assert.Equal(t, "sliding-log 2/1m", quota.GetViolations()[0].GetDescription())
	assert.Empty(t, quota.GetViolations()[0].GetSubject(), "it would be the key")
	assert.Equal(t, []string{"59999"}, trailer["grpc-retry-pushback-ms"], "rounded up")
}

// A client that waits for RetryInfo is served, one that waits a millisecond less is not.
func TestP24_RetryInfoIsTight(t *testing.T) {
	for _, policy := range []weir.Policy{
		per(1, time.Minute),
		weir.TokenBucket{Limit: 1, Per: time.Minute},
		weir.All(weir.TokenBucket{Limit: 1, Per: time.Minute}, per(9, time.Hour)),
	} {
		for name, call := range map[string]func(pb.TestServiceClient) error{
			"unary": func(c pb.TestServiceClient) error { return empty(c) },
			"stream": func(c pb.TestServiceClient) error {
				stream, err := c.StreamingInputCall(context.Background())
				require.NoError(t, err)
				_, err = stream.CloseAndRecv()
				return err
			},
		} {
			for _, elapsed := range []time.Duration{0, 7300 * time.Millisecond} {
				after := func(less time.Duration) codes.Code {
					l, clock := frozen(policy)
					c := dial(t, limitTo(l))
					require.NoError(t, call(c))
					clock.Add(elapsed)
					retry, _ := details(t, call(c))
					clock.Add(retry.GetRetryDelay().AsDuration() - less)
					return status.Code(call(c))
				}
				assert.Equal(t, codes.OK, after(0), "%s, %v after %v", name, policy, elapsed)
				assert.Equal(t, codes.ResourceExhausted, after(time.Millisecond), "%s, %v after %v", name, policy, elapsed)
			}
		}
	}
}

func TestP24_NeverFitsHasNoRetryInfo(t *testing.T) {
	l, _ := frozen(per(5, time.Minute))
	limit := limitTo(l)
	limit.Cost = func(_ context.Context, c grpclimit.Call) int {
		return len(c.Message.(*pb.SimpleRequest).GetPayload().GetBody())
	}
	c := dial(t, limit)
	send := func(size int, opts ...grpc.CallOption) error {
		_, err := c.UnaryCall(context.Background(), &pb.SimpleRequest{Payload: &pb.Payload{Body: make([]byte, size)}}, opts...)
		return err
	}
	require.NoError(t, send(4))
	require.NoError(t, send(0), "not limited")

	var trailer metadata.MD
	err := send(6, grpc.Trailer(&trailer))
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	assert.Equal(t, "the request counts for more than is ever granted at once", status.Convert(err).Message())
	retry, quota := details(t, err)
	assert.Nil(t, retry)
	assert.Nil(t, quota)
	assert.Equal(t, []string{"-1"}, trailer["grpc-retry-pushback-ms"])

	retry, _ = details(t, send(2, grpc.Trailer(&trailer)))
	assert.Equal(t, time.Minute, retry.GetRetryDelay().AsDuration())
}

// A Limiter of somebody else that does not know when has no RetryInfo of 0.
func TestServer_TimeNotKnown(t *testing.T) {
	c := dial(t, limitTo(limiterFunc(func() (weir.Result, error) { return weir.Result{}, nil })))
	var trailer metadata.MD
	err := empty(c, grpc.Trailer(&trailer))
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	retry, _ := details(t, err)
	assert.Nil(t, retry)
	assert.Empty(t, trailer["grpc-retry-pushback-ms"])
}

func TestServer_NoDecision(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	noKey := limitTo(l)
	noKey.Key = grpclimit.Metadata("api-key")
	failing := limitTo(l)
	failing.Key = func(context.Context, grpclimit.Call) (string, error) { return "", errStore }
	emptyKey := limitTo(l)
	emptyKey.Key = func(context.Context, grpclimit.Call) (string, error) { return "", nil }
	negative := limitTo(l)
	negative.Cost = func(context.Context, grpclimit.Call) int { return -1 }
	waiting := limitTo(broken)
	waiting.MaxWait = time.Second
	for name, c := range map[string]struct {
		limit grpclimit.ServerInterceptor
		want  codes.Code
	}{
		"store":            {limitTo(broken), codes.Unavailable},
		"store, with wait": {waiting, codes.Unavailable},
		"key":              {failing, codes.Unavailable},
		"negative cost":    {negative, codes.Unavailable},
		"no key":           {noKey, codes.InvalidArgument},
		"empty key":        {emptyKey, codes.InvalidArgument},
	} {
		var trailer metadata.MD
		err := empty(dial(t, c.limit), grpc.Trailer(&trailer))
		assert.Equal(t, c.want, status.Code(err), name)
		assert.Empty(t, status.Convert(err).Details(), name)
		assert.Empty(t, trailer["grpc-retry-pushback-ms"], name)

		var seen error
		c.limit.Failed = func(_ context.Context, _ grpclimit.Call, err error) error { seen = err; return nil }
		assert.NoError(t, empty(dial(t, c.limit)), "%s: Failed lets it go ahead", name)
		assert.Error(t, seen, name)

		c.limit.Failed = func(context.Context, grpclimit.Call, error) error { return status.Error(codes.DataLoss, "x") }
		assert.Equal(t, codes.DataLoss, status.Code(empty(dial(t, c.limit))), name)
	}
	assert.True(t, l.Allow("one"), "nothing was counted")
}

// An answer contains nothing of an error, of the key, or of what this or another client sent.
func TestP26_AnswersShowNothing(t *testing.T) {
	const key = "s3cret-key"
	l, _ := frozen(per(1, time.Minute))
	over := grpclimit.ServerInterceptor{Limiter: l, Key: grpclimit.Metadata("api-key"), Policy: per(1, time.Minute)}
	require.True(t, l.Allow(key))
	noKey := over
	noKey.Key = grpclimit.Join(over.Key, grpclimit.Metadata("other-field"))
	failing := over
	failing.Limiter = broken
	for name, limit := range map[string]grpclimit.ServerInterceptor{"denied": over, "no key": noKey, "failed": failing} {
		var header, trailer metadata.MD
		ctx := metadata.AppendToOutgoingContext(context.Background(), "api-key", key)
		_, err := dial(t, limit).EmptyCall(ctx, &pb.Empty{}, grpc.Header(&header), grpc.Trailer(&trailer))
		require.Error(t, err, name)
		retry, quota := details(t, err)
		all := err.Error() + retry.String() + quota.String()
		for _, md := range []metadata.MD{header, trailer} {
			for name, values := range md {
				for _, v := range values {
					all += name + ": " + v + "\n"
				}
			}
		}
		for _, secret := range []string{key, "api-key", "other-field", errStore.Error(), "alice", "10.1.2.3", "weir", "192.0.2.1"} {
			assert.NotContains(t, all, secret, name)
		}
	}
}

func TestServer_DeniedChosen(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	limit := limitTo(l)
	var refuse error
	limit.Denied = func(_ context.Context, c grpclimit.Call, r weir.Result) error {
		assert.Equal(t, pb.TestService_EmptyCall_FullMethodName, c.Method)
		assert.Equal(t, time.Minute, r.RetryAfter)
		return refuse
	}
	c := dial(t, limit)
	require.NoError(t, empty(c))
	var trailer metadata.MD
	require.NoError(t, empty(c, grpc.Trailer(&trailer)), "it goes ahead")
	assert.Empty(t, trailer)
	refuse = status.Error(codes.Aborted, "not now")
	assert.Equal(t, codes.Aborted, status.Code(empty(c, grpc.Trailer(&trailer))))
	assert.Equal(t, []string{"60000"}, trailer["grpc-retry-pushback-ms"])
}

func TestServer_Observe(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	limit := limitTo(l)
	var seen []grpclimit.Decision
	limit.Observe = func(_ context.Context, c grpclimit.Call, d grpclimit.Decision) {
		assert.Equal(t, pb.TestService_EmptyCall_FullMethodName, c.Method)
		assert.IsType(t, &pb.Empty{}, c.Message)
		seen = append(seen, d)
	}
	c := dial(t, limit)
	require.NoError(t, empty(c))
	require.Error(t, empty(c))
	assert.Equal(t, []grpclimit.Decision{
		{Key: "one", Cost: 1, Result: weir.Result{Allowed: true, Limit: 1, ResetAfter: time.Minute}},
		{Key: "one", Cost: 1, Result: weir.Result{Limit: 1, RetryAfter: time.Minute, ResetAfter: time.Minute}},
	}, seen)
}

func TestServer_Skip(t *testing.T) {
	limit := limitTo(broken)
	limit.Key = func(context.Context, grpclimit.Call) (string, error) { return "", grpclimit.ErrSkip }
	for _, messages := range []bool{false, true} {
		limit.Messages = messages
		c := dial(t, limit)
		assert.NoError(t, empty(c))
		stream, err := c.StreamingInputCall(context.Background())
		require.NoError(t, err)
		require.NoError(t, stream.Send(&pb.StreamingInputCallRequest{}))
		_, err = stream.CloseAndRecv()
		assert.NoError(t, err)
	}
}

func TestServer_Faults(t *testing.T) {
	limit := grpclimit.ServerInterceptor{Limiter: (*weir.KeyedLimiter)(nil), MaxWait: -1, Policy: per(0, 1)}
	for _, make := range []func(){func() { limit.Unary() }, func() { limit.Stream() }} {
		fault := panicOf(make)
		for _, want := range []string{"Limiter is nil", "Key is nil", "MaxWait is -1ns", "Policy: ", "Limit"} {
			assert.ErrorContains(t, fault, want)
		}
	}
}

func panicOf(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}
