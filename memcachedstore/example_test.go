package memcachedstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/memcachedstore"
)

// All processes that do this share one limit of 100 events a second for each key. While a server is
// away, each process limits the keys of that server by itself.
func Example() {
	var servers memcache.ServerList // the same in all processes, in the same order
	if err := servers.SetServers("10.0.0.5:11211", "10.0.0.6:11211"); err != nil {
		panic(err) // a name does not resolve
	}
	client := memcache.NewFromSelector(&servers)
	client.MaxIdleConns = 100               // as many keys as are asked for at the same time
	client.Timeout = 200 * time.Millisecond // of a connection, and of a reply
	defer client.Close()

	shared, err := memcachedstore.New(client, memcachedstore.Options{})
	if err != nil {
		panic(err)
	}
	store := fleet.Fallback(shared, new(weir.MemStore), fleet.FallbackOptions{})
	limiter, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Second},
		weir.WithStore(store), weir.WithName("api"))
	if err != nil {
		panic(err)
	}

	r, err := limiter.Take(context.Background(), "alice", 1)
	switch {
	case err != nil:
		fmt.Println("no decision:", err)
	case !r.Allowed:
		fmt.Println("try again in", r.RetryAfter)
	}
}
