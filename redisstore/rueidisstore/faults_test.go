package rueidisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/redistest"
)

// patience is how long the tests wait for what must happen soon.
const patience = 30 * time.Second

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// loseReplies loses the replies to n commands that run a script, after those to so many.
func loseReplies(n, after int, proxies []*redistest.Proxy) {
	var seen atomic.Int64
	for _, p := range proxies {
		p.LoseReplies(n, func(command []string) bool {
			return strings.HasPrefix(strings.ToUpper(command[0]), "EVAL") && seen.Add(1) > int64(after)
		})
	}
}

func lost(proxies []*redistest.Proxy) (n int) {
	for _, p := range proxies {
		n += p.Lost()
	}
	return n
}

// checkLostReplies loses the reply to a command, and to as many more as a client might send in its
// place. There must be none: the command was executed, and only its caller may decide what to do.
func checkLostReplies(t *testing.T, client rueidis.Client, proxies []*redistest.Proxy) {
	store := newStore(t, client, WithTimeout(patience))
	const limit, per = 100, 365 * 24 * time.Hour // an event's share is more than a test's time
	for _, c := range []struct {
		name     string
		policy   weir.Policy
		commands int // that a decision takes
	}{
		{"TokenBucket", weir.TokenBucket{Limit: limit, Per: per}, 1},
		{"FixedWindow", weir.FixedWindow{Limit: limit, Per: per, FromFirst: true}, 1},
		{"SlidingWindow", weir.SlidingWindow{Limit: limit, Per: per}, 1},
		{"SlidingLog", weir.SlidingLog{Limit: limit, Per: per}, 1},
		{"own", own{weir.FixedWindow{Limit: limit, Per: per, FromFirst: true}}, 2}, // it is read, and swapped
	} {
		t.Run(c.name, func(t *testing.T) {
			l := limiterOn(t, store, c.policy)
			for i, losses := range []int{1, 3, 10} {
				key := fmt.Sprint("k", i)
				r, err := l.Take(t.Context(), key, 1) // so that the script is there
				require.NoError(t, err)
				require.True(t, r.Allowed)
				before := lost(proxies)
				loseReplies(losses, c.commands-1, proxies)
				r, err = l.Take(t.Context(), key, 10)
				loseReplies(0, 0, proxies)
				require.Error(t, err)
				require.Zero(t, r, "an error comes with the Result that denies")
				assert.Equal(t, 1, lost(proxies)-before, "the command is sent once, with %d replies lost", losses)
				assert.Equal(t, 11, counted(t, l, key), "and counted once")
			}
		})
	}
}

func TestRepliesLost(t *testing.T) {
	t.Parallel()
	proxies := []*redistest.Proxy{redistest.NewProxy(t, redistest.Single(t).Addr())}
	checkLostReplies(t, newClient(t, at(proxies[0].Addr())), proxies)
}

// A script that the server does not know takes two commands. Only the second can have been executed.
func TestRepliesLostOfAnUnknownScript(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	proxies := []*redistest.Proxy{redistest.NewProxy(t, server.Addr())}
	l := limiterOn(t, newStore(t, newClient(t, at(proxies[0].Addr()))), spacious)
	for after, want := range []int{0, 1} {
		key := fmt.Sprint("k", after)
		server.MustDo("SCRIPT", "FLUSH")
		loseReplies(10, after, proxies)
		_, err := l.Take(t.Context(), key, 1)
		loseReplies(0, 0, proxies)
		require.Error(t, err)
		assert.Equal(t, after+1, lost(proxies))
		assert.Equal(t, want, counted(t, l, key))
	}
}

// Commands that are sent together are each executed once, be it that the server forgets the scripts, and at
// most once where connections are lost.
func TestTraffic(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	proxies := []*redistest.Proxy{redistest.NewProxy(t, server.Addr())}
	store := newStore(t, newClient(t, at(proxies[0].Addr())), WithTimeout(patience))
	for name, c := range map[string]struct {
		fault  func()
		mayErr bool
	}{
		"scripts forgotten": {func() { server.MustDo("SCRIPT", "FLUSH") }, false},
		"replies lost":      {func() { loseReplies(1, 20, proxies) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := limiterOn(t, store, spacious)
			const callers, rounds = 32, 60
			var granted, failed [callers * rounds]bool
			var all sync.WaitGroup
			done := make(chan struct{})
			for caller := range callers {
				all.Go(func() {
					for i := caller; i < len(granted); i += callers {
						r, err := l.Take(t.Context(), fmt.Sprint(i), 1)
						granted[i], failed[i] = r.Allowed, err != nil
					}
				})
			}
			go func() {
				all.Wait()
				close(done)
			}()
			for over := false; !over; {
				c.fault()
				select {
				case <-done:
					over = true
				case <-time.After(2 * time.Millisecond):
				}
			}
			loseReplies(0, 0, proxies)
			failures := 0
			for i := range granted {
				n := counted(t, l, fmt.Sprint(i))
				switch {
				case granted[i]:
					assert.Equal(t, 1, n)
				default:
					assert.LessOrEqual(t, n, 1)
					assert.True(t, failed[i], "denied")
					failures++
				}
			}
			assert.Equal(t, c.mayErr, failures > 0, "%d failures", failures)
		})
	}
}

// P22: while nothing is answered, callers are held up until their deadline, or for the time allowed; and
// no more commands than allowed are under way.
func TestP22_StallHoldsNobody(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	const bound = 8
	store := newStore(t, newClient(t, at(proxy.Addr())), WithTimeout(time.Second), WithMaxInFlight(bound))
	l := limiterOn(t, store, spacious)
	require.True(t, l.Allow("k"))
	proxy.Stall()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := l.Take(ctx, "k", 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = l.Take(ctx, "k", 1)
	require.ErrorIs(t, err, context.Canceled)

	const callers = 30
	errs := make(chan error, callers)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			_, err := l.Take(t.Context(), "k", 1)
			errs <- err
		})
	}
	all.Wait()
	noReply, busy := 0, 0
	for range callers {
		switch err := <-errs; {
		case errors.Is(err, ErrNoReply):
			noReply++
		case errors.Is(err, ErrBusy):
			busy++
		default:
			t.Errorf("unexpected: %v", err)
		}
	}
	assert.NotZero(t, noReply)
	// The two of before may have ended just before the others, and two more been sent in their place.
	const sent = bound + 2
	assert.LessOrEqual(t, noReply, sent)
	assert.Equal(t, callers-noReply, busy)
	assert.False(t, l.Allow("k"), "a store that is down denies")

	proxy.Forward()
	eventually(t, "a decision", func() bool { return l.Allow("k") })
	n := counted(t, l, "k")
	assert.LessOrEqual(t, n, 1+sent+1, "what was not sent is not counted")
	assert.GreaterOrEqual(t, n, 2, "of the first and the last")
}

// A client that gives up earlier than the store tells the same.
func TestTimeoutOfTheClient(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	client := newClient(t, at(server.Addr()), func(o *rueidis.ClientOption) { o.ConnWriteTimeout = 50 * time.Millisecond })
	l := limiterOn(t, newStore(t, client, WithTimeout(patience)), spacious)
	require.True(t, l.Allow("k"))
	server.Pause()
	_, err := l.Take(t.Context(), "k", 1)
	require.ErrorIs(t, err, ErrNoReply)
	server.Resume()
}

// A command whose caller is gone when the connection is there is not sent.
func TestGivenUpCommandIsNotSent(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	dial, slow := make(chan struct{}), atomic.Bool{}
	client := newClient(t, at(proxy.Addr()), func(o *rueidis.ClientOption) {
		o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			if slow.Load() {
				<-dial
			}
			return d.DialContext(ctx, "tcp", addr)
		}
	})
	l := limiterOn(t, newStore(t, client), spacious)
	require.True(t, l.Allow("k"))
	slow.Store(true)
	proxy.Refuse()
	eventually(t, "the loss of the connection", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := l.Take(ctx, "k", 1)
		return errors.Is(err, context.DeadlineExceeded)
	})
	proxy.Forward()
	close(dial)
	eventually(t, "a connection", func() bool { return l.Allow("other") })
	assert.Equal(t, 1, counted(t, l, "k"))
}
