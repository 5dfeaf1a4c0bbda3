package test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/natsstore"
	"github.com/weir-go/weir/natsstore/internal/bucket"
	"github.com/weir-go/weir/storetest"
	"github.com/weir-go/weir/storetest/faultproxy"
)

// A prefixed store has keys of its own in the bucket, and its values stay an hour longer: the
// clocks of its limiters may stand still, and that of the server does not.
type prefixed struct {
	*casstore.Store
	prefix string
}

func newPrefixed(r *bucket.Register, prefix string) prefixed {
	key := func(name, key string) string { return prefix + casstore.Key(name, key) }
	return prefixed{casstore.New(longer{r}, casstore.Options{Timeout: traffic.Patience, Key: key}), prefix}
}

type longer struct{ *bucket.Register }

func (l longer) Swap(
	ctx context.Context, key string, old casstore.Entry, value []byte, keep time.Duration,
) (casstore.Entry, bool, error) {
	return l.Register.Swap(ctx, key, old, value, min(keep, weir.Never-time.Hour)+time.Hour)
}

func TestStore(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	_, js, name := newShared(t)
	proxy := faultproxy.New(t, addr(server), nil)
	direct, another, proxied := bucket.New(js, name), bucket.New(connect(t, addr(server)), name),
		bucket.New(connect(t, proxy.Addr()), name)
	n, had := 0, 0 // stores, and replies lost before
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			runs.Short(t, runs.InCI(runs.Server, runs.Client))
			n++
			r := direct
			if strings.Contains(t.Name(), "/Failures:_") {
				r = proxied // which makes each round trip longer
			}
			return newPrefixed(r, fmt.Sprint(n, "/"))
		},
		storetest.Shared(func(_ *testing.T, s weir.Store) weir.Store {
			return newPrefixed(another, s.(prefixed).prefix)
		}),
		storetest.ServerExpiry(func(t *testing.T) weir.Store { return newStore(t, js, newBucket(t, js)) }),
		storetest.LostReplies(func(_ weir.Store, n int) {
			assert.True(t, n > 0 || proxy.Lost() > had, "no reply was lost")
			had = proxy.Lost()
			proxy.LoseReplies(n, isSwap)
		}),
		storetest.Hangs(func(weir.Store) func() {
			proxy.Stall()
			return proxy.Forward
		}),
		storetest.RoundTrips())
}

// Many connections grant exactly the limit of a key.
func TestConnectionsShareALimit(t *testing.T) {
	t.Parallel()
	_, _, name := newShared(t)
	var all []*natsstore.Store
	for range 8 {
		all = append(all, newStore(t, connect(t, addr(sharedServer(t))), name))
	}
	shareALimit(t, all)
}

// shareALimit asks each store for the same key by several goroutines.
func shareALimit(t *testing.T, all []*natsstore.Store) {
	t.Helper()
	const callers, limit = 8, 100
	var granted, denied atomic.Int64
	done := make(chan error)
	for _, s := range all {
		l := newLimiter(t, s, weir.FixedWindow{Limit: limit, Per: traffic.Year, FromFirst: true})
		for range callers {
			go func() {
				for range runs.Long(50, 10) {
					switch r, err := l.Take(t.Context(), "k", 1); {
					case err != nil:
						done <- err
						return
					case r.Allowed:
						granted.Add(1)
					default:
						denied.Add(1)
					}
				}
				done <- nil
			}()
		}
	}
	for range len(all) * callers {
		require.NoError(t, <-done)
	}
	assert.EqualValues(t, limit, granted.Load())
	assert.Positive(t, denied.Load(), "more was asked for than there is")
}
