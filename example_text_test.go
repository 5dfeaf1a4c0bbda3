package weir_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// A limit from an environment variable, say, and what a mistake in it looks like.
func ExampleParsePolicy() {
	for _, text := range []string{
		"100/1m",
		"token-bucket 100/1m burst=20",
		"fixed-window 300000/1d from-first",
		"token-bucket 100/1m bur=20",
	} {
		p, err := weir.ParsePolicy(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%#v\n", p)
	}

	// Output:
	// weir.TokenBucket{Limit:100, Per:60000000000, Burst:0}
	// weir.TokenBucket{Limit:100, Per:60000000000, Burst:20}
	// weir.FixedWindow{Limit:300000, Per:86400000000000, FromFirst:true}
	// weir: policy "token-bucket 100/1m bur=20": at byte 20, "bur=20": must be burst=N or the end
}

// Limits in a configuration file: of any kind for a plan, of one kind for logins.
func ExampleAnyPolicy() {
	var config struct {
		Plans map[string]weir.AnyPolicy
		Login weir.SlidingLog
	}
	err := json.Unmarshal([]byte(`{
		"plans": {"free": "fixed-window 1000/1d", "paid": "token-bucket 100/1s burst=500"},
		"login": "sliding-log 5/1m"
	}`), &config)
	if err != nil {
		fmt.Println(err)
		return
	}
	free := weir.Must(weir.New(config.Plans["free"].Policy))
	fmt.Println(config.Plans["free"], free.Allow("ada"))
	fmt.Println(config.Plans["paid"])
	fmt.Println(config.Login.Limit, "logins in", config.Login.Per)

	// Output:
	// fixed-window 1000/1d true
	// token-bucket 100/1s burst=500
	// 5 logins in 1m0s
}

// A limit of any kind as a flag.
func ExampleAnyPolicy_flag() {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	limit := weir.AnyPolicy{Policy: weir.TokenBucket{Limit: 100, Per: time.Minute}}
	flags.TextVar(&limit, "limit", limit, "requests of a client")

	fmt.Println("by default", limit)
	if err := flags.Parse([]string{"-limit", "leaky-bucket 10/1s capacity=50"}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("now", limit)

	// Output:
	// by default 100/1m
	// now leaky-bucket 10/1s capacity=50
}
