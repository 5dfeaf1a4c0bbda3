package redisstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore"
)

// All processes that do this share one limit of 100 events a second for each key.
func Example() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer client.Close()
	store, err := redisstore.New(client, redisstore.Options{Timeout: 100 * time.Millisecond})
	if err != nil {
		panic(err)
	}
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

// A cluster is used in the same way. Each key is on one of its masters.
func Example_cluster() {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"localhost:7000", "localhost:7001"}})
	defer client.Close()
	store, err := redisstore.New(client, redisstore.Options{Prefix: "shop"})
	if err != nil {
		panic(err)
	}
	_ = weir.Must(weir.New(weir.SlidingLog{Limit: 5, Per: time.Minute}, weir.WithStore(store), weir.WithName("login")))
}
