package redisstore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore"
	"github.com/weir-go/weir/redisstore/internal/redistest"
)

// ownPolicy is one that a store has no script for.
type ownPolicy struct{ weir.FixedWindow }

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
func checkLostReplies(t *testing.T, client redisstore.Client, proxies []*redistest.Proxy) {
	store := newStore(t, client)
	const limit = 100
	const per = 365 * 24 * time.Hour // an event's share is more than a test's time
	for _, c := range []struct {
		name     string
		policy   weir.Policy
		commands int // that a decision takes
	}{
		{"TokenBucket", weir.TokenBucket{Limit: limit, Per: per}, 1},
		{"FixedWindow", weir.FixedWindow{Limit: limit, Per: per, FromFirst: true}, 1},
		{"SlidingWindow", weir.SlidingWindow{Limit: limit, Per: per}, 1},
		{"SlidingLog", weir.SlidingLog{Limit: limit, Per: per}, 1},
		{"own", ownPolicy{weir.FixedWindow{Limit: limit, Per: per, FromFirst: true}}, 2}, // it is read, and swapped
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
	// A queue holds one event a slot: a second execution would be a denial.
	t.Run("LeakyBucket", func(t *testing.T) {
		l := limiterOn(t, store, weir.LeakyBucket{Limit: 1, Per: time.Hour})
		_, err := l.Take(t.Context(), "script", 1)
		require.NoError(t, err)
		before := lost(proxies)
		loseReplies(10, 0, proxies)
		r, err := l.Take(t.Context(), "k", 1)
		loseReplies(0, 0, proxies)
		require.Error(t, err)
		require.Zero(t, r)
		assert.Equal(t, 1, lost(proxies)-before)
		r, err = l.Take(t.Context(), "k", 0)
		require.NoError(t, err)
		assert.Greater(t, r.ResetAfter, time.Duration(0))
		assert.LessOrEqual(t, r.ResetAfter, time.Hour)
	})
}

func TestFaults_RepliesLost(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	checkLostReplies(t, newClient(t, proxy.Addr()), []*redistest.Proxy{proxy})
}

// A script that the server does not know takes two commands. Only the second can have been executed.
func TestFaults_RepliesLostOfAnUnknownScript(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	l := limiterOn(t, newStore(t, newClient(t, proxy.Addr())), spacious)
	for after, want := range []int{0, 1} {
		key := fmt.Sprint("k", after)
		server.MustDo("SCRIPT", "FLUSH")
		loseReplies(10, after, []*redistest.Proxy{proxy})
		_, err := l.Take(t.Context(), key, 1)
		loseReplies(0, 0, []*redistest.Proxy{proxy})
		require.Error(t, err)
		assert.Equal(t, after+1, proxy.Lost())
		assert.Equal(t, want, counted(t, l, key))
	}
}

func TestFaults_RepliesLostOfARing(t *testing.T) {
	t.Parallel()
	var proxies []*redistest.Proxy
	addrs := map[string]string{}
	for i := range 2 {
		p := redistest.NewProxy(t, redistest.Single(t).Addr())
		proxies = append(proxies, p)
		addrs[fmt.Sprint("shard", i)] = p.Addr()
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: addrs})
	t.Cleanup(func() { _ = ring.Close() })
	checkLostReplies(t, ring, proxies)
}

// With traffic on, each call whose reply is lost fails, and so do those that were sent with it; and none is
// counted twice.
func TestFaults_RepliesLostInTraffic(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	tr := drive(t, limiterOn(t, newStore(t, newClient(t, proxy.Addr())), spacious), 16, 4, patience)
	for _, losses := range []int{1, 3, 10} {
		want := proxy.Lost() + losses
		loseReplies(losses, 0, []*redistest.Proxy{proxy})
		eventually(t, "replies to be lost", func() bool { return proxy.Lost() == want })
		tr.awaitServed(t)
	}
	tr.check(t, false)
	all := 0
	for i := range tr.keys {
		all += counted(t, tr.limiter, tr.keys[i].name)
	}
	granted, failed := tr.sum()
	assert.GreaterOrEqual(t, failed, int64(14))
	assert.GreaterOrEqual(t, all, int(granted)+14, "a reply is lost of what was executed")
	assert.LessOrEqual(t, all, int(granted+failed))
}
