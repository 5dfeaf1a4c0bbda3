package connectlimit_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/connectlimit"
	"github.com/weir-go/weir/httplimit"
)

// steady lets one call a second go, and freely any number at once.
var (
	steady = weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1}
	freely = weir.TokenBucket{Limit: 1000, Per: time.Second}
)

func limiter(p weir.Policy) weir.Limiter { return weir.Must(weir.New(p)) }

// paced calls f in a bubble, for each protocol, with clients that c limits. The server allows its
// policy, and notes when calls came.
func paced(t *testing.T, c func() *connectlimit.ClientInterceptor, server weir.Policy, f func(*testing.T, *connectlimit.ClientInterceptor, rpc, *[]time.Duration)) {
	for _, p := range protocols {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var mu sync.Mutex
			var came []time.Duration
			m := connectlimit.Middleware{Limit: httplimit.Middleware{
				Limiter: limiter(server), Key: one,
				Observe: func(*http.Request, httplimit.Decision) {
					mu.Lock()
					defer mu.Unlock()
					came = append(came, time.Since(begin))
				},
			}}
			n := behind(m)().start()
			defer n.stop()
			i := c()
			f(t, i, p.client(n, connect.WithInterceptors(i.Interceptor())), &came)
		})
	}
}

func TestClient_WaitsItsTurn(t *testing.T) {
	paced(t, func() *connectlimit.ClientInterceptor {
		return &connectlimit.ClientInterceptor{Limiter: limiter(steady)}
	}, freely, func(t *testing.T, _ *connectlimit.ClientInterceptor, c rpc, came *[]time.Duration) {
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { assert.NoError(t, c.echo(1)) })
			wg.Go(func() {
				sum, err := c.sum(3)
				assert.NoError(t, err)
				assert.EqualValues(t, 3, sum)
			})
		}
		wg.Wait()
		assert.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, *came, "a stream counts once")
	})
}

// What the client learns from one call holds all calls to that host back.
// A URL that spells the default port out has the key of one that does not, as over plain HTTP.
func TestClient_DefaultPorts(t *testing.T) {
	c := &connectlimit.ClientInterceptor{
		Limiter: limiter(freely), Hold: func(error) time.Duration { return time.Minute },
	}
	nowhere := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, net.ErrClosed
	}}}
	for url, key := range map[string]string{
		"https://A.example:443": "a.example", "http://b.example:80": "b.example",
		"https://c.example": "c.example", "http://d.example:8080": "d.example:8080",
	} {
		client := connect.NewClient[number, number](nowhere, url+echoProcedure, connect.WithInterceptors(c.Interceptor()))
		_, err := client.CallUnary(t.Context(), connect.NewRequest(wrapperspb.Int64(1)))
		assert.Error(t, err)
		assert.NotZero(t, c.HeldUntil(key), url)
	}
}

func TestClient_RetryInfoHoldsTheHostBackForAll(t *testing.T) {
	for name, call := range map[string]func(rpc) error{
		"unary":  func(c rpc) error { return c.echo(1) },
		"stream": func(c rpc) error { _, err := c.sum(1); return err },
	} {
		paced(t, func() *connectlimit.ClientInterceptor {
			return &connectlimit.ClientInterceptor{Limiter: limiter(freely)}
		}, per(2, time.Minute), func(t *testing.T, i *connectlimit.ClientInterceptor, c rpc, came *[]time.Duration) {
			begin := time.Now()
			require.NoError(t, call(c))
			time.Sleep(time.Second)
			require.NoError(t, call(c))
			assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(call(c)), "the answer is passed on, not retried")
			assert.Equal(t, begin.Add(time.Minute), i.HeldUntil("shop.example"))
			require.NoError(t, call(c))
			assert.Equal(t, []time.Duration{0, time.Second, time.Second, time.Minute}, *came, name)
		})
	}
}

func TestClient_MaxHoldJitterRelease(t *testing.T) {
	paced(t, func() *connectlimit.ClientInterceptor {
		return &connectlimit.ClientInterceptor{Limiter: limiter(freely), Key: one, MaxHold: time.Minute, Jitter: time.Second}
	}, per(1, time.Hour), func(t *testing.T, i *connectlimit.ClientInterceptor, c rpc, came *[]time.Duration) {
		require.NoError(t, c.echo(1))
		require.Error(t, c.echo(1))
		held := time.Until(i.HeldUntil("one"))
		assert.GreaterOrEqual(t, held, time.Minute)
		assert.Less(t, held, time.Minute+time.Second)
		i.Release("one")
		assert.Zero(t, i.HeldUntil("one"))
		require.Error(t, c.echo(1))
		assert.Equal(t, []time.Duration{0, 0, 0}, *came, "it asked the server")
	})
}

// A call that gets no turn is never sent, and all its methods return.
func TestClient_TooLate(t *testing.T) {
	paced(t, func() *connectlimit.ClientInterceptor {
		return &connectlimit.ClientInterceptor{Limiter: limiter(freely)}
	}, per(1, time.Minute), func(t *testing.T, _ *connectlimit.ClientInterceptor, c rpc, came *[]time.Duration) {
		begin := time.Now()
		require.NoError(t, c.echo(1))
		require.Error(t, c.echo(1))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := c.echoes.CallUnary(ctx, connect.NewRequest(&number{}))
		assert.ErrorIs(t, err, weir.ErrTooLate)
		assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
		assert.Zero(t, connectlimit.RetryAfter(err), "it was not sent")

		stream := c.sums.CallClientStream(ctx)
		assert.ErrorIs(t, stream.Send(&number{}), weir.ErrTooLate)
		_, err = stream.CloseAndReceive()
		assert.ErrorIs(t, err, weir.ErrTooLate)

		duplex := c.sums.CallBidiStream(ctx)
		_, err = duplex.Receive()
		assert.ErrorIs(t, err, weir.ErrTooLate)
		assert.Empty(t, duplex.ResponseHeader())
		assert.Empty(t, duplex.ResponseTrailer())
		assert.ErrorIs(t, duplex.CloseRequest(), weir.ErrTooLate)
		assert.NoError(t, duplex.CloseResponse())
		assert.Zero(t, time.Since(begin), "at once")

		waiting, stop := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, stop)
		_, err = c.echoes.CallUnary(waiting, connect.NewRequest(&number{}))
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, connect.CodeCanceled, connect.CodeOf(err))
		assert.Len(t, *came, 2)
	})
}

func TestClient_OtherErrors(t *testing.T) {
	key := func(err error) httplimit.KeyFunc { return func(*http.Request) (string, error) { return "", err } }
	for name, c := range map[string]struct {
		i    *connectlimit.ClientInterceptor
		want connect.Code
	}{
		"store":     {&connectlimit.ClientInterceptor{Limiter: failing(errStore)}, connect.CodeUnavailable},
		"queue":     {&connectlimit.ClientInterceptor{Limiter: failing(weir.ErrQueueFull)}, connect.CodeResourceExhausted},
		"too large": {&connectlimit.ClientInterceptor{Limiter: failing(weir.ErrNeverFits)}, connect.CodeResourceExhausted},
		"timeout":   {&connectlimit.ClientInterceptor{Limiter: failing(context.DeadlineExceeded)}, connect.CodeUnavailable}, // of the store
		"key":       {&connectlimit.ClientInterceptor{Limiter: failing(nil), Key: key(errStore)}, connect.CodeUnavailable},
		"no key":    {&connectlimit.ClientInterceptor{Limiter: failing(nil), Key: key(nil)}, connect.CodeInvalidArgument},
		"skip":      {&connectlimit.ClientInterceptor{Limiter: failing(errStore), Key: key(httplimit.ErrSkip)}, 0},
	} {
		paced(t, func() *connectlimit.ClientInterceptor { return c.i }, freely, func(t *testing.T, _ *connectlimit.ClientInterceptor, rpc rpc, came *[]time.Duration) {
			err := rpc.echo(1)
			if c.want == 0 {
				assert.NoError(t, err)
				assert.Len(t, *came, 1)
				return
			}
			assert.Equal(t, c.want, connect.CodeOf(err), name)
			assert.Empty(t, *came, name)
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
	paced(t, func() *connectlimit.ClientInterceptor {
		return &connectlimit.ClientInterceptor{Limiter: endless{}}
	}, freely, func(t *testing.T, _ *connectlimit.ClientInterceptor, c rpc, came *[]time.Duration) {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.echoes.CallUnary(ctx, connect.NewRequest(&number{}))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, connect.CodeDeadlineExceeded, connect.CodeOf(err))
		assert.Equal(t, time.Second, time.Since(begin))
		assert.Empty(t, *came)
	})
}

// A stream whose call was not sent does not end well, also if the store's server has closed the
// connection.
func TestClient_StoreAtItsEnd(t *testing.T) {
	closed := storeFunc(func(context.Context, weir.Request) (weir.Answer, error) { return weir.Answer{}, io.EOF })
	paced(t, func() *connectlimit.ClientInterceptor {
		return &connectlimit.ClientInterceptor{Limiter: weir.Must(weir.New(steady, weir.WithStore(closed)))}
	}, freely, func(t *testing.T, _ *connectlimit.ClientInterceptor, c rpc, came *[]time.Duration) {
		stream := c.sums.CallBidiStream(context.Background())
		assert.NotErrorIs(t, stream.Send(&number{}), io.EOF)
		_, err := stream.Receive()
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
		assert.NotErrorIs(t, err, io.EOF)
		assert.Empty(t, *came)
	})
}

type storeFunc func(context.Context, weir.Request) (weir.Answer, error)

func (f storeFunc) Do(ctx context.Context, r weir.Request) (weir.Answer, error) { return f(ctx, r) }

func TestClient_Faults(t *testing.T) {
	c := &connectlimit.ClientInterceptor{MaxHold: -1, Jitter: -2}
	fault := panicOf(func() { c.Interceptor() })
	for _, want := range []string{"Limiter is nil", "MaxHold is -1ns", "Jitter is -2ns"} {
		assert.ErrorContains(t, fault, want)
	}
}

// An interceptor for the one side does nothing on the other.
func TestInterceptors_OfTheOtherSide(t *testing.T) {
	server := connectlimit.ServerInterceptor{Limiter: failing(errStore), Key: one}.Interceptor()
	client := (&connectlimit.ClientInterceptor{Limiter: failing(errStore)}).Interceptor()
	s := func() service { return service{options: []connect.HandlerOption{connect.WithInterceptors(client)}} }
	for _, p := range protocols {
		n := s().start()
		defer n.stop()
		c := p.client(n, connect.WithInterceptors(server))
		assert.NoError(t, c.echo(1))
		_, err := c.sum(2)
		assert.NoError(t, err)
	}
}

// A Hold gets the error of a call, once, and not the end of a stream that has succeeded.
func TestClient_HoldsAfterErrorsOnly(t *testing.T) {
	var got []connect.Code
	paced(t, func() *connectlimit.ClientInterceptor {
		got = nil
		return &connectlimit.ClientInterceptor{Limiter: limiter(freely), Hold: func(err error) time.Duration {
			got = append(got, connect.CodeOf(err))
			return time.Second
		}}
	}, per(1, time.Hour), func(t *testing.T, _ *connectlimit.ClientInterceptor, c rpc, came *[]time.Duration) {
		for range 2 {
			stream, err := c.sums.CallClientStream(context.Background()).Conn()
			require.NoError(t, err)
			require.NoError(t, stream.CloseRequest())
			for range 3 {
				err = stream.Receive(new(number))
				time.Sleep(500 * time.Millisecond)
			}
			require.Error(t, err, "again, or io.EOF")
			require.NoError(t, stream.CloseResponse())
		}
		assert.Equal(t, []time.Duration{0, 1500 * time.Millisecond}, *came)
		assert.Equal(t, []connect.Code{connect.CodeResourceExhausted}, got)
	})
}
