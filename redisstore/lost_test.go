package redisstore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/redistest"
)

// A reply that is lost is an error, and what was counted is counted once: go-redis would have sent the
// command again, up to three times.
func TestLostRepliesAreCountedOnce(t *testing.T) {
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": proxy.Addr()}})
	t.Cleanup(func() { ring.Close() })
	lostRepliesAreCountedOnce(t, "Client", newClient(t, proxy.Addr()), proxy)
	lostRepliesAreCountedOnce(t, "Ring", ring, proxy)
}

func TestLostRepliesOfClusterAreCountedOnce(t *testing.T) {
	nodes := redistest.Cluster(t)
	var proxies []*redistest.Proxy
	for _, n := range nodes {
		proxies = append(proxies, redistest.NewProxy(t, n.Addr()))
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes.Addrs(), Dialer: redistest.DialThrough(proxies...)})
	t.Cleanup(func() { cluster.Close() })
	lostRepliesAreCountedOnce(t, "Cluster", cluster, proxies...)
}

func lostRepliesAreCountedOnce(t *testing.T, name string, client Client, proxies ...*redistest.Proxy) {
	for _, c := range []struct {
		policy    weir.Policy
		arguments int // of the command that grants
	}{
		{weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}, 6},
		{inGo{weir.FixedWindow{Limit: 100, Per: 50 * 365 * 24 * time.Hour}}, 7},
	} {
		for _, losses := range []int{1, 3, 10} {
			t.Run(fmt.Sprintf("%s %T %d", name, c.policy, losses), func(t *testing.T) {
				l := newLimiter(t, newStore(t, client), c.policy, t.Name())
				take(t, l, "k", 1)
				for _, p := range proxies {
					p.LoseReplies(losses, func(command []string) bool {
						return strings.HasPrefix(strings.ToLower(command[0]), "eval") && len(command) == c.arguments
					})
				}
				for range losses {
					_, err := l.Take(context.Background(), "k", 1)
					assert.Error(t, err)
				}
				for _, p := range proxies {
					p.LoseReplies(0, nil) // those before nodes that were not asked
				}
				assert.Equal(t, 100-1-losses-1, take(t, l, "k", 1).Remaining, "each was executed once")
			})
		}
	}
}

// A master of a cluster that is lost is replaced within seconds, and the store follows: by default
// go-redis would ask for the topology a minute later. The new master does not know the scripts.
func TestLostMasterOfClusterIsReplaced(t *testing.T) {
	nodes := redistest.Cluster(t)
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes.Addrs()})
	t.Cleanup(func() { cluster.Close() })
	l := newLimiter(t, newStore(t, cluster), weir.TokenBucket{Limit: 1e9, Per: time.Second}, "")
	const keys = 50 // on all masters
	for i := range keys {
		take(t, l, fmt.Sprint(i), 1)
	}
	masters := nodes.Masters()
	masters[0].AwaitReplicated(1)
	masters[0].Kill()
	stop := make(chan struct{})
	go func() { // the errors of traffic tell that a master is lost
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				l.Allow(fmt.Sprint(i % keys))
			}
		}
	}()
	defer close(stop)
	nodes.AwaitPromoted(t)
	promoted := time.Now()
	for i := range keys {
		assert.Eventually(t, func() bool { return l.Allow(fmt.Sprint(i)) }, 20*time.Second, 5*time.Millisecond)
	}
	t.Logf("all keys are served %v after the promotion", time.Since(promoted))
}
