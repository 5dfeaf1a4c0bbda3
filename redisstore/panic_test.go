package redisstore

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// A bomb is a hook that does not return while it is armed.
type bomb struct {
	armed atomic.Bool
	goOff func()
}

func (b *bomb) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *bomb) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if b.armed.Load() {
			b.goOff()
		}
		return next(ctx, cmd)
	}
}

func (b *bomb) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if b.armed.Load() {
			b.goOff()
		}
		return next(ctx, cmds)
	}
}

// bombs are hooks that end in each way that there is, and what callers get.
var bombs = map[string]func(){
	"a hook of the client panicked: out of range": func() { panic("out of range") }, // no reply to a script
	"a hook of the client ended its goroutine":    runtime.Goexit,
}

// A hook that panicked ended the process, since it ran in a goroutine in which nobody could
// recover. Now it is an error of the decision, and the places in flight are free again.
func TestPanicOfAHook(t *testing.T) {
	t.Parallel()
	for want, goOff := range bombs {
		client := newClient(t, redistest.Single(t).Addr())
		b := &bomb{goOff: goOff}
		client.AddHook(b)
		for _, c := range []Client{client, alone{client}} {
			l := newLimiter(t, newStoreWith(t, c, remote.Config{MaxInFlight: 2}), weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}, "")
			b.armed.Store(true)
			for range 10 {
				r, err := l.Take(context.Background(), "k", 1)
				assert.ErrorContains(t, err, want)
				assert.NotErrorIs(t, err, weir.ErrRequest)
				assert.Equal(t, weir.Result{}, r)
			}
			b.armed.Store(false)
			for i := range 10 {
				take(t, l, fmt.Sprint(i), 1)
			}
		}
	}
}

// alone is a client that is sent each command alone.
type alone struct{ Client }

// All callers of a pipeline get the error.
func TestPanicOfAHookForMany(t *testing.T) {
	t.Parallel()
	for want, goOff := range bombs {
		for _, singleServer := range []bool{false, true} {
			const n = maxFlights + 20
			client := newClient(t, redistest.Single(t).Addr())
			b := &bomb{goOff: goOff}
			s := newStoreWith(t, client, remote.Config{SingleServer: singleServer, MaxInFlight: n, Patience: patiently})
			l := newLimiter(t, s, weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}, "")
			take(t, l, "script", 1)
			meanwhile := func() {
				b.armed.Store(true)
				client.AddHook(b)
			}
			commands := map[bool]int{false: 20, true: 1}[singleServer]
			together(t, client, s, n, commands, meanwhile, func(i int) {
				_, err := l.Take(context.Background(), fmt.Sprint(i), 1)
				if i >= maxFlights { // the others may have passed before the hook was there
					assert.ErrorContains(t, err, want)
				}
			})
			b.armed.Store(false)
			for i := range 2 * n {
				require.True(t, l.Allow(fmt.Sprint(i)))
			}
		}
	}
}
