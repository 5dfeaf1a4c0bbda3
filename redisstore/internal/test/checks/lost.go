package checks

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// LoseReplies loses the replies to n commands that run a script, until n of them are lost or it is
// called again.
func LoseReplies(n int, proxies ...*redistest.Proxy) { loseReplies(n, 0, proxies) }

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

// LostReplies loses the reply to a command, and to commands that a client might send in its place.
// The client must send none: the command was executed, and only its caller may decide what to do.
// The proxies stand before all servers of the store.
func LostReplies(t *testing.T, store weir.Store, proxies ...*redistest.Proxy) {
	for name, policy := range each(100) {
		t.Run(name, func(t *testing.T) {
			l := LimiterOn(t, store, policy)
			before := 0 // commands of the decision whose replies are not lost
			if name == "none" {
				before = 1 // the state is read, and swapped
			}
			for i, losses := range []int{1, 3, 10} {
				key := fmt.Sprint("k", i)
				r, err := l.Take(t.Context(), key, 1) // so that the script is there
				noError(t, err)
				must(t, r.Allowed, "denied")
				had := lost(proxies)
				loseReplies(losses, before, proxies)
				r, err = l.Take(t.Context(), key, 10)
				loseReplies(0, 0, proxies)
				must(t, err != nil, "no error")
				must(t, r == (weir.Result{}), "an error comes with %+v, must be the Result that denies", r)
				equal(t, 1, lost(proxies)-had, "the command is sent once, with %d replies lost", losses)
				equal(t, 11, Counted(t, l, key), "and counted once")
			}
		})
	}
	// A queue holds one event a slot: a second execution would be a denial.
	t.Run("LeakyBucket", func(t *testing.T) {
		l := LimiterOn(t, store, weir.LeakyBucket{Limit: 1, Per: time.Hour})
		_, err := l.Take(t.Context(), "script", 1)
		noError(t, err)
		had := lost(proxies)
		loseReplies(10, 0, proxies)
		r, err := l.Take(t.Context(), "k", 1)
		loseReplies(0, 0, proxies)
		must(t, err != nil, "no error")
		must(t, r == (weir.Result{}), "an error comes with %+v, must be the Result that denies", r)
		equal(t, 1, lost(proxies)-had, "the command is sent once")
		Counted(t, l, "k")
		r, err = l.Take(t.Context(), "k", 0)
		noError(t, err)
		check(t, r.ResetAfter > 0, "ResetAfter is %v", r.ResetAfter)
		atMost(t, time.Hour, r.ResetAfter, "ResetAfter")
	})
}

// LostRepliesOfAnUnknownScript is LostReplies for a script that the server does not know. It takes
// two commands, and only the second can have been executed.
func LostRepliesOfAnUnknownScript(t *testing.T, m Maker) {
	server := redistest.Single(t)
	proxies := []*redistest.Proxy{redistest.NewProxy(t, server.Addr())}
	l := LimiterOn(t, m.on(t, proxies[0].Addr(), remote.Config{}), Spacious)
	for after, want := range []int{0, 1} {
		key := fmt.Sprint("k", after)
		server.MustDo("SCRIPT", "FLUSH")
		loseReplies(10, after, proxies)
		_, err := l.Take(t.Context(), key, 1)
		loseReplies(0, 0, proxies)
		must(t, err != nil, "no error")
		equal(t, after+1, lost(proxies), "replies lost")
		equal(t, want, Counted(t, l, key), "counted")
	}
}

// FaultsInTraffic checks commands that are sent together. Each is executed once, even if the server
// forgets the scripts, and at most once if connections are lost.
func FaultsInTraffic(t *testing.T, m Maker) {
	server := redistest.Single(t)
	proxies := []*redistest.Proxy{redistest.NewProxy(t, server.Addr())}
	store := m.on(t, proxies[0].Addr(), remote.Config{})
	toLose := 0
	for name, c := range map[string]struct {
		fault  func()
		mayErr bool
	}{
		"scripts forgotten": {func() { server.MustDo("SCRIPT", "FLUSH") }, false},
		"replies lost": {func() {
			if lost(proxies) == toLose { // else the last one is still to be lost, however slow all is
				toLose++
				loseReplies(1, 20, proxies)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := LimiterOn(t, store, Spacious)
			const callers = 32
			granted := make([]bool, callers*runs.Long(60, 30))
			failed := make([]bool, len(granted))
			var all sync.WaitGroup
			done := make(chan struct{})
			c.fault() // before they may all be done
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
				select {
				case <-done:
					over = true
				case <-time.After(2 * time.Millisecond):
					c.fault()
				}
			}
			loseReplies(0, 0, proxies)
			failures := 0
			for i := range granted {
				n := Counted(t, l, fmt.Sprint(i))
				switch {
				case granted[i]:
					equal(t, 1, n, "counted")
				default:
					atMost(t, 1, n, "counted")
					check(t, failed[i], "denied")
					failures++
				}
			}
			equal(t, c.mayErr, failures > 0, "%d failures", failures)
		})
	}
}
