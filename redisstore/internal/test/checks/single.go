package checks

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// SingleServer checks a store with SingleServer.
func SingleServer(t *testing.T, m Maker) {
	single := func(tb testing.TB, addrs []string, c remote.Config) weir.Store {
		c.SingleServer = true
		return m(tb, addrs, c)
	}
	t.Run("each key has its own limit", func(t *testing.T) { ownLimits(t, single) })
	t.Run("what fails for a key fails for no other", func(t *testing.T) { foreignKeys(t, single) })
	t.Run("forgotten scripts", func(t *testing.T) { ForgottenScripts(t, single) })
	t.Run("faults in traffic", func(t *testing.T) { FaultsInTraffic(t, single) })
}

// ownLimits checks that each of many keys is granted its limit by two stores, and that keys share
// commands.
func ownLimits(t *testing.T, m Maker) {
	const limit, callers = 3, 64
	keys := runs.Long(100, runs.InCI(30, 12))
	server := redistest.Single(t)
	for name, p := range each(limit) {
		granted := make([]atomic.Int64, keys)
		var all sync.WaitGroup
		server.MustDo("CONFIG", "RESETSTAT")
		for _, store := range []weir.Store{m.on(t, server.Addr(), remote.Config{}), m.on(t, server.Addr(), remote.Config{})} {
			l := weir.Must(weir.New(p, weir.WithStore(store), weir.WithName(name)))
			for caller := range callers / 2 {
				all.Go(func() {
					for i := range keys {
						key := (i + caller) % keys
						r, err := l.Take(t.Context(), fmt.Sprint(key), 1)
						check(t, err == nil, "%s: %v", name, err)
						if r.Allowed {
							granted[key].Add(1)
						}
					}
				})
			}
		}
		all.Wait()
		for key := range granted {
			equal(t, limit, granted[key].Load(), "%s: granted of key %d", name, key)
		}
		atMost(t, keys*callers/2, scriptsOf(t, server), "%s: scripts for %d decisions", name, keys*callers)
	}
}

// scriptsOf is how many scripts the server has executed.
func scriptsOf(tb testing.TB, server *redistest.Server) (n int) {
	_, stat, _ := strings.Cut(server.MustDo("INFO", "commandstats").(string), "cmdstat_evalsha:")
	_, err := fmt.Sscanf(stat, "calls=%d,", &n)
	noError(tb, err)
	return n
}

// foreignKeys checks that keys which hold something else, or which the user may not use, don't
// affect other keys in the same command.
func foreignKeys(t *testing.T, m Maker) {
	server := redistest.Single(t)
	server.MustDo("ACL", "SETUSER", "default", "resetkeys", "~weir:1:{mine:*")
	store := m.on(t, server.Addr(), remote.Config{})
	mine := weir.Must(weir.New(Spacious, weir.WithStore(store), weir.WithName("mine")))
	others := weir.Must(weir.New(Spacious, weir.WithStore(store), weir.WithName("others")))
	server.MustDo("LPUSH", "weir:1:{mine:list}", "x")
	var all sync.WaitGroup
	const callers = 64
	rounds := runs.Long(50, runs.InCI(50, 15))
	for caller := range callers {
		all.Go(func() {
			for i := range rounds {
				l, key, want := mine, fmt.Sprintf("%d-%d", caller, i), ""
				switch caller % 8 {
				case 0:
					l, want = others, "NOPERM"
				case 1:
					key, want = "list", "WRONGTYPE"
				}
				switch r, err := l.Take(t.Context(), key, 1); {
				case want == "":
					check(t, err == nil && r.Allowed && r.Remaining == r.Limit-1, "%s: %+v, %v", key, r, err)
				default:
					check(t, err != nil && strings.Contains(err.Error(), want), "%s: %v, want %s", key, err, want)
				}
			}
		})
	}
	all.Wait()
}
