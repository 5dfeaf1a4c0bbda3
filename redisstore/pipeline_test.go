package redisstore

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/script"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// A gate holds what a client is to send, and knows how many commands there are in each flight.
type gate struct {
	mu      sync.Mutex // held while it is shut
	flights chan int
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		g.pass(1)
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		g.pass(len(cmds))
		return next(ctx, cmds)
	}
}

func (g *gate) pass(n int) {
	g.flights <- n
	g.mu.Lock()
	defer g.mu.Unlock()
}

const maxFlights, maxCalls = remote.MaxFlights, remote.MaxCalls

// patiently has a flight that is held hold up others, however long it is out.
const patiently = time.Hour

// together calls f for 0 to n - 1 at once, such that the commands of all but the first maxFlights
// of them are sent in one flight, of so many commands. Meanwhile is called before that. The store
// must be made patiently.
func together(t *testing.T, client *redis.Client, s *Store, n, commands int, meanwhile func(), f func(i int)) {
	t.Helper()
	g := &gate{flights: make(chan int, 1000)}
	client.AddHook(g)
	g.mu.Lock()
	var callers sync.WaitGroup
	for i := range maxFlights {
		callers.Go(func() { f(i) })
		<-g.flights
	}
	for i := maxFlights; i < n; i++ {
		callers.Go(func() { f(i) })
		require.Eventually(t, func() bool { return s.remote.Waiting() == i-maxFlights+1 }, time.Minute, time.Millisecond)
	}
	meanwhile()
	g.mu.Unlock()
	callers.Wait()
	var sizes []int
	for len(g.flights) > 0 {
		sizes = append(sizes, <-g.flights) // a new connection sends commands, too
	}
	assert.Contains(t, sizes, commands, "those who waited go together")
}

// Callers that come while commands are in flight share a round trip, and each gets its own answer.
// Only scripts that the server does not know are sent again. On a single server, callers that make
// the same request for different keys share a command, too.
func TestPipeline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flush, singleServer bool
		scripts             int // that are sent together
	}{
		"scripts known":                    {false, false, maxCalls/4 + 2},
		"scripts forgotten":                {true, false, maxCalls/4 + 2},
		"scripts known, single server":     {false, true, 2},
		"scripts forgotten, single server": {true, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Single(t)
			client := newClient(t, server.Addr())
			s := newStoreWith(t, client, remote.Config{SingleServer: c.singleServer, Patience: patiently})
			const n = maxFlights + maxCalls
			tokens := newLimiter(t, s, weir.TokenBucket{Limit: n, Per: 1000 * time.Hour}, "")
			window := newLimiter(t, s, weir.FixedWindow{Limit: 1, Per: 50 * 365 * 24 * time.Hour}, "w")
			take(t, tokens, "script", 1)
			take(t, window, "script", 1)
			take(t, window, "forgotten", 1)
			server.MustDo("LPUSH", s.remote.Engine().Keys.Key("", "list"), "x")
			var mu sync.Mutex
			var left []int
			meanwhile := func() {
				server.MustDo("CONFIG", "RESETSTAT")
				if c.flush {
					server.MustDo("SCRIPT", "FLUSH")
				}
			}
			together(t, client, s, n, maxCalls/4+c.scripts, meanwhile, func(i int) {
				switch i % 4 {
				case 0:
					assert.True(t, window.Allow(fmt.Sprint(i)))
				case 1:
					_, err := tokens.Take(context.Background(), "list", 1)
					assert.ErrorContains(t, err, "WRONGTYPE")
				case 2:
					_, err := s.remote.Engine().Send(context.Background(), script.Call{Key: s.remote.Engine().Keys.Key("w", "forgotten")})
					assert.NoError(t, err)
				default:
					r, err := tokens.Take(context.Background(), "k", 1)
					assert.NoError(t, err)
					mu.Lock()
					defer mu.Unlock()
					left = append(left, r.Remaining)
				}
			})
			var want []int
			for i := range n / 4 {
				want = append(want, n-1-i)
			}
			assert.ElementsMatch(t, want, left, "each is counted once")
			assert.True(t, window.Allow("forgotten"))
			if !c.flush {
				calls := fmt.Sprint(server.MustDo("INFO", "commandstats"))
				if !c.singleServer {
					assert.Contains(t, calls, fmt.Sprintf("cmdstat_evalsha:calls=%d,", maxFlights+c.scripts+1))
					assert.NotContains(t, calls, "cmdstat_eval:")
				} else { // the scripts for many keys are new to the server, and the list is tried alone
					assert.Contains(t, calls, fmt.Sprintf("cmdstat_evalsha:calls=%d,", maxFlights+c.scripts+1+1))
					assert.Contains(t, calls, fmt.Sprintf("cmdstat_eval:calls=%d,", c.scripts))
				}
			}
		})
	}
}

// Callers who wait to ask for one event of the same key share a command, and each gets the answer
// that it would have got alone, in the order in which they came.
func TestCallersOfAKeyShareACommand(t *testing.T) {
	t.Parallel()
	policies := five(20)
	policies["LeakyBucket"] = weir.LeakyBucket{Limit: 20, Per: 50 * 365 * 24 * time.Hour}
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, redistest.Single(t).Addr())
			s := newStoreWith(t, client, remote.Config{Patience: patiently})
			l := newLimiter(t, s, p, "")
			take(t, l, "script", 1)
			other := newLimiter(t, s, p, "other")
			results := make([]weir.Result, maxFlights+maxCalls)
			const commands = 3 // for k, for k of the other limiter, and for two events of k
			together(t, client, s, len(results), commands, func() {}, func(i int) {
				switch {
				case i < maxFlights:
					take(t, l, fmt.Sprint("first", i), 0)
				case i == maxFlights+5:
					assert.True(t, other.Allow("k"))
				case i == maxFlights+9:
					results[i] = take(t, l, "k", 2)
				default:
					results[i] = take(t, l, "k", 1)
				}
			})
			_, spaced := p.(weir.LeakyBucket)
			asked := append(results[maxFlights:maxFlights+5:maxFlights+5], results[maxFlights+6:]...)
			left := 20
			for i, r := range asked {
				if i == 8 { // the one that asks for two, which is a command of its own, after all others
					assert.False(t, r.Allowed)
					continue
				}
				allowed := left > 0
				if left = max(left-1, 0); spaced {
					left = 0
				}
				require.Equal(t, allowed, r.Allowed, "the ask number %d", i)
				require.Equal(t, left, r.Remaining)
				require.Equal(t, !allowed, r.RetryAfter > 0)
			}
		})
	}
}

// The connection is cut after the server has executed some commands of a pipeline. None of them is
// sent again. If a caller was told that its events are granted, they are counted.
func TestPipelineWhoseRepliesAreLost(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	client := newClient(t, proxy.Addr())
	s := newStoreWith(t, client, remote.Config{Patience: patiently})
	const n, executed = maxFlights + 20, 7 // of the pipeline
	l := newLimiter(t, s, weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}, "")
	take(t, l, "script", 1)
	var granted, failed, seen int
	var mu sync.Mutex
	meanwhile := func() {
		proxy.LoseReplies(10, func(command []string) bool {
			if !strings.EqualFold(command[0], "evalsha") || !strings.Contains(command[3], "k") {
				return false
			}
			seen++
			return seen >= executed
		})
	}
	key := func(i int) string { return fmt.Sprint("k", i) }
	together(t, client, s, n, n-maxFlights, meanwhile, func(i int) {
		if i < maxFlights {
			_, err := l.Take(context.Background(), "alone", 1)
			assert.NoError(t, err)
			return
		}
		r, err := l.Take(context.Background(), key(i), 1)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			failed++
			assert.Zero(t, r)
		default:
			granted++
		}
	})
	assert.Equal(t, n-maxFlights, granted+failed)
	assert.GreaterOrEqual(t, failed, n-maxFlights-executed+1)
	assert.Equal(t, 1, proxy.Lost(), "the pipeline is sent once")
	proxy.LoseReplies(0, nil)
	counted := 0
	for i := range n {
		counted += 100 - take(t, l, key(i), 0).Remaining
	}
	assert.Equal(t, executed, counted)
}

// A pipeline for which there is no connection, because the server refuses one by an error of its
// own, is an error for each caller. go-redis leaves the commands as if they had no reply.
func TestPipelineThatIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := redistest.Single(t)
	admin := newClient(t, server.Addr())
	require.NoError(t, admin.ConfigSet(ctx, "requirepass", "old").Err())
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Password: "old"})
	t.Cleanup(func() { client.Close() })
	s := newStoreWith(t, client, remote.Config{Patience: patiently})
	l := newLimiter(t, s, weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}, "")
	take(t, l, "k", 1)
	meanwhile := func() {
		require.NoError(t, admin.ConfigSet(ctx, "requirepass", "new").Err())
		require.NoError(t, admin.ClientKillByFilter(ctx, "TYPE", "normal").Err())
	}
	together(t, client, s, 10, 10-maxFlights, meanwhile, func(i int) {
		_, err := l.Take(ctx, fmt.Sprint(i), 1)
		assert.ErrorContains(t, err, "WRONGPASS")
	})
}
