package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

func TestFaults_RepliesLost(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	checks.LostReplies(t, newStore(t, newClient(t, proxy.Addr())), proxy)
}

func TestFaults_RepliesLostOfAnUnknownScript(t *testing.T) {
	t.Parallel()
	checks.LostRepliesOfAnUnknownScript(t, made)
}

func TestFaults_InTrafficOnManyKeys(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	checks.FaultsInTraffic(t, made)
}

func TestFaults_StallHoldsNobody(t *testing.T) {
	t.Parallel()
	checks.StallHoldsNobody(t, made)
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
	checks.LostReplies(t, newStore(t, ring), proxies...)
}

// A Ring asks another server for the keys of a lost one. docs/redis.md warns of that.
func TestFaults_RingForgetsKeysOfALostServer(t *testing.T) {
	t.Parallel()
	servers := map[string]*redistest.Server{"shard0": redistest.Single(t), "shard1": redistest.Single(t)}
	addrs := map[string]string{}
	for name, server := range servers {
		addrs[name] = server.Addr()
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: addrs, HeartbeatFrequency: 10 * time.Millisecond, ReadTimeout: checks.Patience})
	t.Cleanup(func() { _ = ring.Close() })
	l := checks.LimiterOn(t, newStore(t, ring), checks.Spacious)
	_, err := l.Take(t.Context(), "k", 7)
	require.NoError(t, err)
	require.Equal(t, 7, checks.Counted(t, l, "k"))
	for _, server := range servers {
		if server.MustDo("DBSIZE") == int64(1) {
			server.Kill()
		}
	}
	checks.Eventually(t, "another server to be asked", func() bool {
		_, err := l.Take(t.Context(), "k", 0)
		return err == nil
	})
	assert.Equal(t, 0, checks.Counted(t, l, "k"))
}

// Under traffic, each call whose reply is lost fails, and so do calls that were sent with it. No
// call is counted twice.
func TestFaults_RepliesLostInTraffic(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	tr := drive(t, checks.LimiterOn(t, newStore(t, newClient(t, proxy.Addr())), checks.Spacious), 16, 4, checks.Patience)
	for _, losses := range []int{1, 3, 10} {
		want := proxy.Lost() + losses
		checks.LoseReplies(losses, proxy)
		checks.Eventually(t, "replies to be lost", func() bool { return proxy.Lost() == want })
		tr.awaitServed(t)
	}
	tr.check(t, false)
	all := 0
	for i := range tr.keys {
		all += checks.Counted(t, tr.limiter, tr.keys[i].name)
	}
	granted, failed := tr.sum()
	assert.GreaterOrEqual(t, failed, int64(14))
	assert.GreaterOrEqual(t, all, int(granted)+14, "a reply is lost of what was executed")
	assert.LessOrEqual(t, all, int(granted+failed))
}
