package script

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// newClient returns a client of a redis-server of its own.
func newClient(tb testing.TB) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: redistest.Single(tb).Addr(), ReadTimeout: time.Minute})
	tb.Cleanup(func() { client.Close() })
	return client
}
