package rueidisstore_test

import (
	"fmt"
	"log"
	"time"

	"github.com/redis/rueidis"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/rueidisstore"
)

func ExampleNew() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"localhost:6379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	store, err := rueidisstore.New(client, rueidisstore.Options{Timeout: 200 * time.Millisecond})
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
