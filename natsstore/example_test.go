package natsstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/natsstore"
)

// All processes that do this share one limit of 100 events a second for each key.
func Example() {
	ctx := context.Background()
	conn, err := nats.Connect("nats://localhost:4222", nats.MaxReconnects(-1))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		panic(err)
	}
	_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{ // the bucket; or once, beforehand
		Name:              "KV_limits",
		Subjects:          []string{"$KV.limits.>"},
		MaxMsgsPerSubject: 1,
		AllowMsgTTL:       true, // values can expire, each at its time
		Discard:           jetstream.DiscardNew,
		Storage:           jetstream.FileStorage,
		Replicas:          1, // 3 in a cluster
		// CreateKeyValue also sets these. Tools for buckets need them.
		AllowRollup: true, AllowDirect: true, DenyDelete: true,
	})
	if err != nil {
		panic(err)
	}
	store, err := natsstore.New(js, natsstore.Options{Bucket: "limits", Timeout: 200 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	if err := store.Check(ctx); err != nil {
		panic(err)
	}
	limiter, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Second},
		weir.WithStore(store), weir.WithName("api"))
	if err != nil {
		panic(err)
	}

	r, err := limiter.Take(ctx, "alice", 1)
	switch {
	case err != nil:
		fmt.Println("no decision:", err)
	case !r.Allowed:
		fmt.Println("try again in", r.RetryAfter)
	}
}
