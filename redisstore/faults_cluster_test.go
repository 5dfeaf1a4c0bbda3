package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// failoverBound is by when callers must be served again after a replica was promoted. It is short
// of the minute after which go-redis by itself asks for the topology, and long for a machine under
// load.
const failoverBound = 45 * time.Second

// TestFaults_Cluster shares one Cluster, for it takes seconds to start. The last fault is the end
// of it.
func TestFaults_Cluster(t *testing.T) {
	runs.SkipDear(t)
	t.Parallel()
	nodes := redistest.Cluster(t)

	t.Run("replies lost", func(t *testing.T) {
		var proxies []*redistest.Proxy
		for _, addr := range nodes.Addrs() {
			proxies = append(proxies, redistest.NewProxy(t, addr))
		}
		client := redis.NewClusterClient(&redis.ClusterOptions{
			Addrs:       nodes.Addrs(),
			Dialer:      redistest.DialThrough(proxies...),
			ReadTimeout: checks.Patience,
		})
		t.Cleanup(func() { _ = client.Close() })
		checks.LostReplies(t, newStore(t, client), proxies...)
	})

	t.Run("many processes and keys", func(t *testing.T) {
		j := job{Cluster: true, Addrs: nodes.Addrs(), Callers: 8, Keys: runs.Long(4000, 400), Rounds: 1, Policy: checks.Spacious}
		j.Policy.Limit = runs.Long(5, 2) // each process asks once
		checkProcesses(t, runs.Long(8, 3), j)
	})

	t.Run("permissions", func(t *testing.T) {
		checks.Permissions(t, func(t *testing.T, addrs []string) weir.Store {
			c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Username: "weir", Password: "password", ReadTimeout: checks.Patience})
			t.Cleanup(func() { _ = c.Close() })
			return newStore(t, c)
		}, nodes, checks.UserRules, checks.ClusterRules, checks.CommandRule)
	})

	t.Run("slot moved", func(t *testing.T) {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes.Addrs(), ReadTimeout: checks.Patience})
		t.Cleanup(func() { _ = client.Close() })
		tr := drive(t, checks.LimiterOn(t, newStore(t, client), checks.Spacious), 16, 1, checks.Patience)
		nodes.MoveSlot(t, "weir:1:{"+t.Name()+":key 0}", func() { tr.awaitServed(t) })
		tr.check(t, false)
		_, failed := tr.sum()
		assert.Zero(t, failed, "no caller sees it")
	})

	t.Run("master lost", func(t *testing.T) {
		client := redis.NewClusterClient(&redis.ClusterOptions{
			Addrs:                      nodes.Addrs(),
			ClusterStateReloadInterval: time.Minute, // the default since go-redis 9.22
			// It asks a node at random for the topology, maybe the stopped one, and waits as long
			// for it: by default 3 s, and 4 s more where calls that were given up hold all
			// connections.
			ReadTimeout: 500 * time.Millisecond,
		})
		t.Cleanup(func() { _ = client.Close() })
		tr := drive(t, checks.LimiterOn(t, newStore(t, client), checks.Spacious), 16, 30, 500*time.Millisecond)
		for _, fault := range []struct {
			name       string
			begin, end func(*redistest.Server)
		}{
			{"killed", (*redistest.Server).Kill, (*redistest.Server).Restart},
			{"stopped", (*redistest.Server).Pause, (*redistest.Server).Resume},
		}[:runs.Long(2, 1)] {
			lost := nodes.Masters()[0]
			fault.begin(lost)
			tr.awaitFailed(t)
			nodes.AwaitPromoted(t)
			checkFollows(t, tr, nodes)
			took := tr.awaitServed(t)
			t.Logf("%s: served again %v after the promotion", fault.name, took)
			assert.Less(t, took, failoverBound)
			fault.end(lost) // it becomes a replica
			nodes.AwaitReplicas(t)
			tr.awaitServed(t)
		}
		tr.check(t, true)
	})
}

// checkFollows checks that callers are served soon after a client that begins now, and so knows the
// new master. How soon is counted in looks, a fifth of a second apart, in which the store may ask
// for the topology once. go-redis by itself would ask within a minute.
func checkFollows(t *testing.T, tr *traffic, nodes redistest.Nodes) {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes.Addrs(), ReadTimeout: 500 * time.Millisecond})
	defer client.Close()
	fresh := weir.Must(weir.New(checks.Spacious, weir.WithStore(newStore(t, client)), weir.WithName("fresh")))
	const most = 10
	looks := 0
	for i := range tr.keys {
		served := func(l *weir.KeyedLimiter) bool {
			ctx, cancel := context.WithTimeout(t.Context(), tr.deadline)
			defer cancel()
			_, err := l.Take(ctx, tr.keys[i].name, 0)
			return err == nil
		}
		checks.Eventually(t, "a client that has just begun to be served", func() bool { return served(fresh) })
		for ; !served(tr.limiter) && looks <= most; looks++ {
			time.Sleep(200 * time.Millisecond)
		}
	}
	t.Logf("%d looks failed after a client that has just begun was served", looks)
	assert.LessOrEqual(t, looks, most)
}

// A master answers before its replicas have the new state. States that were replicated are still
// there after a failover. If there was time to replicate, as for "k", these are all states.
func TestFaults_SentinelFailover(t *testing.T) {
	t.Parallel()
	watched := redistest.Sentinel(t)
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:    watched.Name,
		SentinelAddrs: watched.Sentinels.Addrs(),
	})
	t.Cleanup(func() { _ = client.Close() })
	l := checks.LimiterOn(t, newStore(t, client), checks.Spacious)
	for range 7 {
		_, err := l.Take(t.Context(), "k", 1)
		assert.NoError(t, err)
	}
	lost := watched.Master()
	lost.AwaitReplicated(2)
	tr := drive(t, l, 16, 4, 500*time.Millisecond)

	lost.Kill()
	tr.awaitFailed(t)
	watched.AwaitPromoted(lost)
	took := tr.awaitServed(t)
	t.Logf("served again %v after the promotion", took)
	assert.Less(t, took, failoverBound)
	tr.check(t, true)
	assert.Equal(t, 7, checks.Counted(t, l, "k"))
}
