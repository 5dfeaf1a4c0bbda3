package redisstore

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
)

var (
	_ Client = (*redis.Client)(nil)
	_ Client = (*redis.ClusterClient)(nil)
	_ Client = (*redis.Ring)(nil)
	_ Client = redis.UniversalClient(nil)
)

// five are the policies that have a script, for limit events in an hour, or more where one could
// end meanwhile.
func five(limit int) map[string]weir.Policy {
	return map[string]weir.Policy{
		"TokenBucket":   weir.TokenBucket{Limit: limit, Per: 50 * 365 * 24 * time.Hour},
		"FixedWindow":   weir.FixedWindow{Limit: limit, Per: 50 * 365 * 24 * time.Hour},
		"FromFirst":     weir.FixedWindow{Limit: limit, Per: time.Hour, FromFirst: true},
		"SlidingWindow": weir.SlidingWindow{Limit: limit, Per: 50 * 365 * 24 * time.Hour},
		"SlidingLog":    weir.SlidingLog{Limit: limit, Per: time.Hour},
	}
}

func newStore(tb testing.TB, client Client) *Store { return newStoreWith(tb, client, remote.Config{}) }

// newStoreWith leaves it to contexts to end a call, unless c has a Timeout: a machine under load is
// no fault.
func newStoreWith(tb testing.TB, client Client, c remote.Config) *Store {
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	s, err := open(client, c)
	require.NoError(tb, err)
	return s
}

func newLimiter(tb testing.TB, s weir.Store, p weir.Policy, name string) *weir.KeyedLimiter {
	l, err := weir.New(p, weir.WithStore(s), weir.WithName(name))
	require.NoError(tb, err)
	return l
}

func take(tb testing.TB, l *weir.KeyedLimiter, key string, n int) weir.Result {
	tb.Helper()
	r, err := l.Take(context.Background(), key, n)
	require.NoError(tb, err)
	return r
}

// inGo is a policy that no script knows: it decides as the one that it holds.
type inGo struct{ weir.Policy }

type storeFunc func(context.Context, weir.Request) (weir.Answer, error)

func (f storeFunc) Do(ctx context.Context, r weir.Request) (weir.Answer, error) { return f(ctx, r) }
