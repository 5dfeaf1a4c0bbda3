package connectlimit_test

import (
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/connectlimit"
	"github.com/weir-go/weir/httplimit"
)

// In every protocol, a client gets the code and the details, and the time in the field of that
// protocol.
func TestDenied(t *testing.T) {
	l, clock := frozen(per(1, time.Minute))
	for way, s := range both(l, one, per(1, time.Minute)) {
		run(t, s, func(t *testing.T, p protocol, c rpc) {
			clock.Add(time.Minute)
			require.NoError(t, c.echo(1))
			clock.Add(1500 * time.Microsecond)
			for _, call := range []func() error{
				func() error { return c.echo(1) },
				func() error { _, err := c.sum(1); return err },
			} {
				err := call()
				assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), way)
				assert.ErrorContains(t, err, "too many requests, try again after the time in RetryInfo")
				retry, quota := details(t, err)
				assert.Equal(t, time.Minute-1500*time.Microsecond, retry.GetRetryDelay().AsDuration())
				require.Len(t, quota.GetViolations(), 1)
				assert.Equal(t, "sliding-log 1/1m", quota.GetViolations()[0].GetDescription())
				assert.Empty(t, quota.GetViolations()[0].GetSubject(), "it would be the key")
			}
			switch err := c.echo(1); p.name {
			case "gRPC", "gRPC-Web":
				assert.Equal(t, "59999", meta(t, err).Get("Grpc-Retry-Pushback-Ms"), "rounded up")
			default:
				assert.Equal(t, "60", meta(t, err).Get("Retry-After"))
				assert.Equal(t, "no-store", meta(t, err).Get("Cache-Control"))
			}
		})
	}
}

// A client that waits for RetryInfo is served, one that waits a millisecond less is not.
func TestP24_RetryInfoIsTight(t *testing.T) {
	l, clock := frozen(per(1, time.Minute))
	for way, s := range both(l, one, nil) {
		run(t, s, func(t *testing.T, _ protocol, c rpc) {
			for name, call := range map[string]func() error{
				"unary":  func() error { return c.echo(1) },
				"stream": func() error { _, err := c.sum(1); return err },
			} {
				after := func(less time.Duration) connect.Code {
					clock.Add(time.Hour)
					require.NoError(t, call())
					clock.Add(7300 * time.Microsecond)
					retry, _ := details(t, call())
					clock.Add(retry.GetRetryDelay().AsDuration() - less)
					if err := call(); err != nil {
						return connect.CodeOf(err)
					}
					return 0
				}
				assert.Zero(t, after(0), "%s, %s", way, name)
				assert.Equal(t, connect.CodeResourceExhausted, after(time.Millisecond), "%s, %s", way, name)
			}
		})
	}
}

func TestP24_NeverFitsHasNoRetryInfo(t *testing.T) {
	never := limiterFunc(func() (weir.Result, error) { return weir.Result{Limit: 1, RetryAfter: weir.Never}, nil })
	for way, s := range both(never, one, nil) {
		run(t, s, func(t *testing.T, p protocol, c rpc) {
			err := c.echo(1)
			assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), way)
			assert.ErrorContains(t, err, "the request counts for more than is ever granted at once")
			retry, quota := details(t, err)
			assert.Nil(t, retry)
			assert.Nil(t, quota)
			assert.Empty(t, meta(t, err).Get("Retry-After"))
			if p.name == "gRPC" || p.name == "gRPC-Web" {
				assert.Equal(t, "-1", meta(t, err).Get("Grpc-Retry-Pushback-Ms"))
			}
		})
	}
}

func TestNoDecision(t *testing.T) {
	noKey := httplimit.Header("X-Api-Key")
	for _, c := range []struct {
		name    string
		limiter weir.Limiter
		key     httplimit.KeyFunc
		want    connect.Code
	}{
		{"store", failing(errStore), one, connect.CodeUnavailable},
		{"key", failing(nil), func(*http.Request) (string, error) { return "", errStore }, connect.CodeUnavailable},
		{"no key", failing(nil), noKey, connect.CodeInvalidArgument},
		{"empty key", failing(nil), func(*http.Request) (string, error) { return "", nil }, connect.CodeInvalidArgument},
	} {
		for way, s := range both(c.limiter, c.key, nil) {
			run(t, s, func(t *testing.T, _ protocol, rpc rpc) {
				err := rpc.echo(1)
				assert.Equal(t, c.want, connect.CodeOf(err), "%s, %s", way, c.name)
				retry, quota := details(t, err)
				assert.Nil(t, retry)
				assert.Nil(t, quota)
			})
		}
	}
}

// An answer contains nothing of an error, of the key, or of what this or another client sent.
func TestP26_AnswersShowNothing(t *testing.T) {
	const key = "s3cret-key"
	l, _ := frozen(per(1, time.Minute))
	require.True(t, l.Allow(key))
	byKey := httplimit.Header("X-Api-Key")
	for _, c := range []struct {
		limiter weir.Limiter
		key     httplimit.KeyFunc
	}{
		{l, byKey},
		{l, httplimit.Join(byKey, httplimit.Header("X-Other"))},
		{failing(errStore), byKey},
	} {
		for way, s := range both(c.limiter, c.key, per(1, time.Minute)) {
			run(t, s, func(t *testing.T, _ protocol, rpc rpc) {
				err := rpc.echo(1, "X-Api-Key", key)
				require.Error(t, err)
				retry, quota := details(t, err)
				all := err.Error() + retry.String() + quota.String()
				for name, values := range meta(t, err) {
					for _, v := range values {
						all += name + ": " + v + "\n"
					}
				}
				for _, secret := range []string{key, "X-Api-Key", "X-Other", errStore.Error(), "alice", "10.1.2.3", "weir", "192.0.2.1"} {
					assert.NotContains(t, all, secret, way)
				}
			})
		}
	}
}

// The middleware of httplimit alone is not enough: its 429 is unavailable to clients, which many of
// them retry at once.
func TestWithoutConnectlimit(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	require.True(t, l.Allow("one"))
	plain := httplimit.Middleware{Limiter: l, Key: one}
	run(t, func() service { return service{wrap: plain.Wrap} }, func(t *testing.T, p protocol, c rpc) {
		err := c.echo(1)
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
		assert.Zero(t, connectlimit.RetryAfter(err))
	})
}
