package connectlimit_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/connectlimit"
	"github.com/weir-go/weir/httplimit"
)

// The key functions of httplimit see a call as they see a request.
func TestServer_Keys(t *testing.T) {
	type contextKey struct{}
	for _, c := range []struct {
		key  httplimit.KeyFunc
		want string
	}{
		{httplimit.RemoteIP, "192.0.2.1"},
		{httplimit.ClientIP{Hops: 1}.ForwardedIP(), "203.0.113.9"},
		{httplimit.Header("X-Api-Key"), "blue"},
		{httplimit.Path, echoProcedure},
		{httplimit.Pattern, echoProcedure},
		{httplimit.ContextValue(contextKey{}), "alice"},
	} {
		var d httplimit.Decision
		i := connectlimit.ServerInterceptor{
			Limiter: weir.Must(weir.New(per(9, time.Minute))),
			Key:     c.key,
			Observe: func(_ context.Context, spec connect.Spec, seen httplimit.Decision) {
				assert.Equal(t, echoProcedure, spec.Procedure)
				d = seen
			},
		}
		alice := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
				return next(context.WithValue(ctx, contextKey{}, "alice"), r)
			}
		})
		s := func() service {
			return service{options: []connect.HandlerOption{connect.WithInterceptors(alice, i.Interceptor())}}
		}
		run(t, s, func(t *testing.T, _ protocol, rpc rpc) {
			require.NoError(t, rpc.echo(1, "X-Api-Key", "blue", "X-Forwarded-For", "198.51.100.1, 203.0.113.9"))
			assert.Equal(t, c.want, d.Key)
			assert.Equal(t, 1, d.Cost)
			assert.True(t, d.Result.Allowed)
		})
	}
}

func TestServer_CostOfMessages(t *testing.T) {
	cost := func(_ context.Context, _ connect.Spec, message any) int {
		if n, ok := message.(*number); ok {
			return int(n.GetValue())
		}
		return 1
	}
	run(t, func() service {
		l, _ := frozen(per(5, time.Minute))
		return limited(connectlimit.ServerInterceptor{Limiter: l, Key: one, Cost: cost})()
	}, func(t *testing.T, _ protocol, c rpc) {
		require.NoError(t, c.echo(4))
		require.NoError(t, c.echo(0), "not limited")
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(c.echo(-1)))
		assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(c.echo(2)))
		_, err := c.sum(9)
		require.NoError(t, err, "the stream counts once")
		assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(c.echo(1)))
	})
}

func TestServer_MessagesCount(t *testing.T) {
	for _, hide := range []bool{false, true} { // whether the handler hides the error
		var reached int64
		l, clock := frozen(per(5, time.Minute))
		i := connectlimit.ServerInterceptor{Limiter: l, Key: one, Messages: true}
		run(t, func() service {
			s := limited(i)()
			s.hide, s.received = hide, func(n int64) { reached += n }
			return s
		}, func(t *testing.T, _ protocol, c rpc) {
			clock.Add(time.Minute)
			reached = 0
			sum, err := c.sum(3)
			require.NoError(t, err)
			assert.EqualValues(t, 3, sum)
			_, err = c.sum(3)
			assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
			retry, _ := details(t, err)
			assert.Equal(t, time.Minute, retry.GetRetryDelay().AsDuration())
			assert.EqualValues(t, 5, reached)
		})
	}
}

// With MaxWait, messages are read no faster than the limit allows.
func TestServer_MessagesWait(t *testing.T) {
	for _, p := range protocols {
		synctest.Test(t, func(t *testing.T) {
			var at []time.Duration
			begin := time.Now()
			s := limited(connectlimit.ServerInterceptor{
				Limiter:  weir.Must(weir.New(weir.LeakyBucket{Limit: 10, Per: time.Second})),
				Key:      one,
				Messages: true,
				MaxWait:  time.Second,
			})()
			s.received = func(int64) { at = append(at, time.Since(begin)) }
			n := s.start()
			defer n.stop()
			_, err := p.client(n).sum(3)
			require.NoError(t, err)
			assert.Equal(t, []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}, at, p.name)
		})
	}
}

// The deadline of a call ends its wait before it begins.
func TestServer_MaxWaitIsWithinTheDeadline(t *testing.T) {
	for _, p := range protocols {
		synctest.Test(t, func(t *testing.T) {
			n := limited(connectlimit.ServerInterceptor{
				Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1})),
				Key:     one,
				MaxWait: time.Minute,
			})().start()
			defer n.stop()
			c := p.client(n)
			require.NoError(t, c.echo(1))
			begin := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), 900*time.Millisecond)
			defer cancel()
			_, err := c.echoes.CallUnary(ctx, connect.NewRequest(&number{}))
			assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), p.name)
			assert.Zero(t, time.Since(begin), "refused at once")
			require.NoError(t, c.echo(1))
			assert.Equal(t, time.Second, time.Since(begin), "held back")
		})
	}
}

func TestServer_ChosenAnswers(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	require.True(t, l.Allow("one"))
	var answer error
	i := connectlimit.ServerInterceptor{
		Limiter: l, Key: one,
		Denied: func(_ context.Context, _ connect.Spec, r weir.Result) error {
			assert.Equal(t, time.Minute, r.RetryAfter)
			return answer
		},
	}
	broken := connectlimit.ServerInterceptor{
		Limiter: failing(errStore), Key: one,
		Failed: func(_ context.Context, _ connect.Spec, err error) error {
			assert.Equal(t, errStore, err)
			return answer
		},
	}
	noKey := broken
	noKey.Key = httplimit.Header("X-Api-Key")
	noKey.Failed = func(_ context.Context, _ connect.Spec, err error) error {
		assert.ErrorIs(t, err, httplimit.ErrNoKey)
		return answer
	}
	for _, i := range []connectlimit.ServerInterceptor{i, broken, noKey} {
		for _, messages := range []bool{false, true} {
			i.Messages = messages
			run(t, limited(i), func(t *testing.T, _ protocol, c rpc) {
				answer = nil
				assert.NoError(t, c.echo(1), "it goes ahead")
				sum, err := c.sum(3)
				assert.NoError(t, err)
				assert.EqualValues(t, 3, sum)
				answer = connect.NewError(connect.CodeAborted, errStore)
				assert.Equal(t, connect.CodeAborted, connect.CodeOf(c.echo(1)))
				_, err = c.sum(3)
				assert.Equal(t, connect.CodeAborted, connect.CodeOf(err))
			})
		}
	}
}

func TestServer_Skip(t *testing.T) {
	for _, messages := range []bool{false, true} {
		run(t, limited(connectlimit.ServerInterceptor{
			Limiter:  failing(errStore),
			Key:      func(*http.Request) (string, error) { return "", httplimit.ErrSkip },
			Messages: messages,
		}), func(t *testing.T, _ protocol, c rpc) {
			assert.NoError(t, c.echo(1))
			_, err := c.sum(2)
			assert.NoError(t, err)
		})
	}
}

// The error of a call that has ended says so.
func TestServer_Ended(t *testing.T) {
	l, _ := frozen(per(9, time.Minute))
	i := connectlimit.ServerInterceptor{Limiter: l, Key: one}.Interceptor()
	call := i.WrapUnary(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) { return nil, nil })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := call(ctx, connect.NewRequest(&number{}))
	assert.Equal(t, connect.CodeCanceled, connect.CodeOf(err))
	ctx, cancel = context.WithTimeout(context.Background(), -1)
	defer cancel()
	_, err = call(ctx, connect.NewRequest(&number{}))
	assert.Equal(t, connect.CodeDeadlineExceeded, connect.CodeOf(err))
}

func TestServer_Faults(t *testing.T) {
	i := connectlimit.ServerInterceptor{Limiter: (*weir.KeyedLimiter)(nil), MaxWait: -1, Policy: per(0, 1)}
	fault := panicOf(func() { i.Interceptor() })
	for _, want := range []string{"Limiter is nil", "Key is nil", "MaxWait is -1ns", "Policy: "} {
		assert.ErrorContains(t, fault, want)
	}
}
