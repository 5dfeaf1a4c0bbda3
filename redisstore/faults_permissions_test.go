package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// A user who has the permissions of docs/redis.md, and no other, is refused nothing. In a Cluster,
// TestFaults_Cluster checks it.
func TestDocsPermissions(t *testing.T) {
	t.Parallel()
	checks.Permissions(t, func(t *testing.T, addrs []string) weir.Store {
		c := redis.NewClient(&redis.Options{Addr: addrs[0], Username: "weir", Password: "password", ReadTimeout: checks.Patience})
		t.Cleanup(func() { _ = c.Close() })
		return newStore(t, c)
	}, redistest.Nodes{redistest.Single(t)}, checks.UserRules)
}

// A Ring pings its servers. If they refuse, it takes them for lost.
func TestDocsPermissions_Ring(t *testing.T) {
	t.Parallel()
	checks.Permissions(t, func(t *testing.T, addrs []string) weir.Store {
		const often = time.Millisecond // so that some pings come while the test runs
		c := redis.NewRing(&redis.RingOptions{
			Addrs: map[string]string{"one": addrs[0]}, HeartbeatFrequency: often,
			Username: "weir", Password: "password", ReadTimeout: checks.Patience,
		})
		t.Cleanup(func() { _ = c.Close() })
		return newStore(t, c)
	}, redistest.Nodes{redistest.Single(t)}, checks.UserRules, checks.PingRule)
}
