package grpclimit_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/grpclimit"
)

// steady lets one call a second go, and freely any number at once.
var (
	steady = weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1}
	freely = weir.TokenBucket{Limit: 1000, Per: time.Second}
)

// site is a server that notes when calls came, and gives them the next of errs.
type site struct {
	mu    sync.Mutex
	begin time.Time
	came  []time.Duration
	errs  []error
}

// answers returns an interceptor for the calls of a server that s makes, in place of a limit.
func (s *site) answers() grpclimit.ServerInterceptor {
	limit := limitTo(broken)
	limit.Failed = func(context.Context, grpclimit.Call, error) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.came = append(s.came, time.Since(s.begin))
		if len(s.errs) == 0 {
			return nil
		}
		err := s.errs[0]
		s.errs = s.errs[1:]
		return err
	}
	return limit
}

// after is the status of a server that asks for calls after d only.
func after(code codes.Code, d time.Duration) error {
	s, _ := status.New(code, "no").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
	return s.Err()
}

// client runs f in a bubble, with a client that c limits.
func client(t *testing.T, c *grpclimit.ClientInterceptor, errs []error, f func(*testing.T, pb.TestServiceClient, *site)) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{begin: time.Now(), errs: errs}
		cc, stop := start(s.answers(), service{}, grpc.WithChainUnaryInterceptor(c.Unary()), grpc.WithChainStreamInterceptor(c.Stream()))
		defer stop()
		f(t, pb.NewTestServiceClient(cc), s)
	})
}

func limiter(p weir.Policy) weir.Limiter { return weir.Must(weir.New(p)) }

func TestClient_WaitsItsTurn(t *testing.T) {
	client(t, &grpclimit.ClientInterceptor{Limiter: limiter(steady)}, nil, func(t *testing.T, c pb.TestServiceClient, s *site) {
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { assert.NoError(t, empty(c)) })
			wg.Go(func() {
				_, err := send(t, c, 3, 0)
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		assert.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, s.came, "a stream counts once")
	})
}

// What the client learns from one call holds all calls back, and then they keep to the limit.
func TestClient_RetryInfoHoldsTheTargetBackForAll(t *testing.T) {
	const hold = 7300 * time.Millisecond
	plain := status.Error(codes.ResourceExhausted, "no")
	for _, c := range []struct {
		err  error
		want time.Duration
	}{
		{after(codes.ResourceExhausted, hold), hold},
		{after(codes.Unavailable, hold), hold},
		{after(codes.ResourceExhausted, 2*time.Hour), time.Hour}, // MaxHold
		{after(codes.Internal, hold), 0},
		{after(codes.ResourceExhausted, -hold), 0},
		{plain, 0},
	} {
		for name, call := range map[string]func(pb.TestServiceClient) error{
			"unary": func(c pb.TestServiceClient) error { return empty(c) },
			"stream": func(c pb.TestServiceClient) error {
				_, err := send(t, c, 1, 0)
				return err
			},
		} {
			i := &grpclimit.ClientInterceptor{Limiter: limiter(steady)}
			client(t, i, []error{c.err}, func(t *testing.T, rpc pb.TestServiceClient, s *site) {
				assert.Equal(t, status.Code(c.err), status.Code(call(rpc)), "the answer is passed on, not retried")
				if c.want > 0 {
					assert.Equal(t, s.begin.Add(c.want), i.HeldUntil("passthrough:///shop.example"))
				}
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() { assert.NoError(t, call(rpc)) })
				}
				wg.Wait()
				assert.Len(t, s.came, 3)
				assert.Equal(t, max(c.want, time.Second), s.came[1], "%s: %v", name, c.err)
				assert.Equal(t, max(c.want, time.Second)+time.Second, s.came[2], "%s: %v", name, c.err)
			})
		}
	}
}

func TestClient_ReleaseAndJitter(t *testing.T) {
	i := &grpclimit.ClientInterceptor{Limiter: limiter(freely), Key: one, MaxHold: time.Minute, Jitter: time.Second}
	client(t, i, []error{after(codes.ResourceExhausted, time.Hour)}, func(t *testing.T, c pb.TestServiceClient, s *site) {
		require.Error(t, empty(c))
		held := i.HeldUntil("one").Sub(s.begin)
		assert.GreaterOrEqual(t, held, time.Minute)
		assert.Less(t, held, time.Minute+time.Second)
		i.Release("one")
		assert.Zero(t, i.HeldUntil("one"))
		require.NoError(t, empty(c))
		assert.Equal(t, []time.Duration{0, 0}, s.came)
	})
}

func TestClient_TooLate(t *testing.T) {
	i := &grpclimit.ClientInterceptor{Limiter: limiter(freely)}
	client(t, i, []error{after(codes.ResourceExhausted, time.Minute)}, func(t *testing.T, c pb.TestServiceClient, s *site) {
		require.Error(t, empty(c))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := c.EmptyCall(ctx, &pb.Empty{})
		assert.ErrorIs(t, err, weir.ErrTooLate)
		assert.Equal(t, codes.ResourceExhausted, status.Code(err))
		assert.Zero(t, grpclimit.RetryAfter(err), "it was not sent")
		_, err = c.StreamingInputCall(ctx)
		assert.ErrorIs(t, err, weir.ErrTooLate)
		assert.Zero(t, time.Since(s.begin), "at once")

		waiting, stop := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, stop)
		_, err = c.EmptyCall(waiting, &pb.Empty{})
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, codes.Canceled, status.Code(err))
		assert.Equal(t, time.Second, time.Since(s.begin))
		assert.Len(t, s.came, 1)
	})
}

func TestClient_OtherErrors(t *testing.T) {
	key := func(err error) grpclimit.KeyFunc {
		return func(context.Context, grpclimit.Call) (string, error) { return "", err }
	}
	for name, c := range map[string]struct {
		i    *grpclimit.ClientInterceptor
		want codes.Code
	}{
		"store":     {&grpclimit.ClientInterceptor{Limiter: broken}, codes.Unavailable},
		"queue":     {&grpclimit.ClientInterceptor{Limiter: failing(weir.ErrQueueFull)}, codes.ResourceExhausted},
		"too large": {&grpclimit.ClientInterceptor{Limiter: failing(weir.ErrNeverFits)}, codes.ResourceExhausted},
		"timeout":   {&grpclimit.ClientInterceptor{Limiter: failing(context.DeadlineExceeded)}, codes.Unavailable}, // of the store
		"key":       {&grpclimit.ClientInterceptor{Limiter: broken, Key: key(errStore)}, codes.Unavailable},
		"no key":    {&grpclimit.ClientInterceptor{Limiter: broken, Key: key(nil)}, codes.InvalidArgument},
		"skip":      {&grpclimit.ClientInterceptor{Limiter: broken, Key: key(grpclimit.ErrSkip)}, codes.OK},
	} {
		client(t, c.i, nil, func(t *testing.T, rpc pb.TestServiceClient, s *site) {
			assert.Equal(t, c.want, status.Code(empty(rpc)), name)
			assert.Equal(t, c.want == codes.OK, len(s.came) == 1, name)
		})
	}
}

// endless is a Limiter whose callers wait until they leave.
type endless struct{ weir.Limiter }

func (endless) Wait(ctx context.Context, _ string, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestClient_DeadlineWhileItWaits(t *testing.T) {
	client(t, &grpclimit.ClientInterceptor{Limiter: endless{}}, nil, func(t *testing.T, c pb.TestServiceClient, s *site) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.EmptyCall(ctx, &pb.Empty{})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, codes.DeadlineExceeded, status.Code(err))
		assert.Equal(t, time.Second, time.Since(s.begin))
		assert.Empty(t, s.came)
	})
}

// failing is a Limiter whose calls fail.
func failing(err error) weir.Limiter {
	return limiterFunc(func() (weir.Result, error) { return weir.Result{}, err })
}

func TestClient_Faults(t *testing.T) {
	c := &grpclimit.ClientInterceptor{MaxHold: -1, Jitter: -2}
	for _, make := range []func(){func() { c.Unary() }, func() { c.Stream() }} {
		fault := panicOf(make)
		for _, want := range []string{"Limiter is nil", "MaxHold is -1ns", "Jitter is -2ns"} {
			assert.ErrorContains(t, fault, want)
		}
	}
}

// A client that obeys what a server says is served: by the real clocks of both.
func TestClientAndServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &grpclimit.ClientInterceptor{Limiter: limiter(freely)}
		cc, stop := start(limitTo(limiter(per(3, time.Minute))), service{}, grpc.WithChainUnaryInterceptor(c.Unary()))
		defer stop()
		rpc := pb.NewTestServiceClient(cc)
		refused := 0
		for range 10 {
			if empty(rpc) != nil {
				refused++
				assert.NoError(t, empty(rpc), "the call after the hold")
			}
		}
		assert.Equal(t, 3, refused)
	})
}

// A Hold gets the error of a call, once, and not the end of a stream that has succeeded.
func TestClient_HoldsAfterErrorsOnly(t *testing.T) {
	refused := after(codes.ResourceExhausted, time.Second)
	var got []codes.Code
	i := &grpclimit.ClientInterceptor{Limiter: limiter(freely), Hold: func(err error) time.Duration {
		got = append(got, status.Code(err))
		return time.Second
	}}
	client(t, i, []error{refused}, func(t *testing.T, c pb.TestServiceClient, s *site) {
		for _, want := range []error{refused, nil} {
			stream, err := c.StreamingInputCall(context.Background())
			require.NoError(t, err)
			require.NoError(t, stream.CloseSend())
			assert.Equal(t, status.Code(want), status.Code(stream.RecvMsg(new(pb.StreamingInputCallResponse))))
			time.Sleep(500 * time.Millisecond)
			assert.Error(t, stream.RecvMsg(new(pb.StreamingInputCallResponse)), "again, or io.EOF")
		}
		assert.Equal(t, []time.Duration{0, time.Second}, s.came, "held back since the answer")
		assert.Zero(t, i.HeldUntil("passthrough:///shop.example"))
	})
	assert.Equal(t, []codes.Code{codes.ResourceExhausted}, got)
}
