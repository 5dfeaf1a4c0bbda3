package pgstore_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/pgstore"
)

// All processes that do this share one limit of 100 events a second for each key.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app@localhost/shop")
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	store, err := pgstore.New(pool, pgstore.Options{Timeout: 200 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	if err := store.CreateTable(ctx); err != nil { // or in your migrations
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

// A table in a schema of its own. The names are quoted.
func ExampleNew_table() {
	pool, err := pgxpool.New(context.Background(), "postgres://app@localhost/shop")
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	store, err := pgstore.New(pool, pgstore.Options{Table: pgx.Identifier{"limits", "logins"}})
	if err != nil {
		panic(err)
	}
	_ = weir.Must(weir.New(weir.SlidingLog{Limit: 5, Per: time.Minute}, weir.WithStore(store), weir.WithName("logins")))
}

// One process deletes expired rows, every minute.
func ExampleStore_DeleteExpired() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app@localhost/shop")
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	store, err := pgstore.New(pool, pgstore.Options{})
	if err != nil {
		panic(err)
	}
	for range time.Tick(time.Minute) {
		if n, err := store.DeleteExpired(ctx); err != nil {
			log.Printf("%d rows deleted, then: %v", n, err)
		}
	}
}
