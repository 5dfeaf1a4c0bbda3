package valkeystore_test

import (
	"fmt"
	"log"
	"time"

	"github.com/valkey-io/valkey-go"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/valkeystore"
)

func ExampleNew() {
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{"localhost:6379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	store, err := valkeystore.New(client, valkeystore.Options{Timeout: 200 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}

	logins := weir.Must(weir.New(
		weir.SlidingLog{Limit: 5, Per: time.Minute},
		weir.WithStore(store),
		weir.WithName("logins"), // tells its keys from those of other limiters in the same Redis
	))
	fmt.Println(logins.Allow("alice"))
}
