package weir_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// ParsePolicy reads a limit, for example from an environment variable. The last text has a mistake,
// which the error names.
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

// In a configuration file, the limit of a plan can be of any kind. The limit for logins must be a
// SlidingLog.
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

// A flag takes a limit of any kind.
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

// Customers have plans. The plan of a key is looked up for each decision. A key that gets a larger
// plan keeps the share that it has used up: bob used half of 10, and then has half of 1000.
func ExampleWithPolicyFor() {
	var (
		free weir.Policy = weir.TokenBucket{Limit: 10, Per: time.Hour}
		pro  weir.Policy = weir.TokenBucket{Limit: 1000, Per: time.Hour}
	)
	plans := map[string]weir.Policy{"ann": pro}
	limiter := weir.Must(weir.New(free, weir.WithPolicyFor(func(_ context.Context, key string) weir.Policy {
		return plans[key] // nil stands for free
	})))

	use := func(key string, n int) {
		r, err := limiter.Take(context.Background(), key, n)
		fmt.Println(key, r.Remaining, "of", r.Limit, err)
	}
	use("ann", 100)
	use("bob", 5)
	plans["bob"] = pro
	use("bob", 100)

	// Output:
	// ann 900 of 1000 <nil>
	// bob 5 of 10 <nil>
	// bob 400 of 1000 <nil>
}

// A limit is changed while the service runs. The events counted so far stay counted.
func ExampleKeyedLimiter_SetPolicy() {
	limiter := weir.Must(weir.New(weir.FixedWindow{Limit: 100, Per: 24 * time.Hour}))
	ctx := context.Background()
	r, _ := limiter.Take(ctx, "ann", 30)
	fmt.Println(r.Remaining, "of", r.Limit)

	if err := limiter.SetPolicy(ctx, weir.FixedWindow{Limit: 50, Per: 24 * time.Hour}); err != nil {
		fmt.Println(err)
		return
	}
	r, _ = limiter.Take(ctx, "ann", 0)
	fmt.Println(r.Remaining, "of", r.Limit)

	// Output:
	// 70 of 100
	// 20 of 50
}

// A new limit is first watched, then enforced for one key in ten, then for all.
func ExampleShadow() {
	limiter := weir.Must(weir.New(weir.SlidingLog{Limit: 5, Per: time.Minute}))
	shadow := weir.Shadow(limiter, func(r weir.Refusal) {
		fmt.Println(r.Key, "refused:", r.Enforced)
	})
	for range 6 {
		shadow.Allow("192.0.2.1")
	}
	_ = shadow.Enforce(0.1)
	fmt.Println(shadow.Allow("192.0.2.1"))
	_ = shadow.Enforce(1)
	fmt.Println(shadow.Allow("192.0.2.1"))

	// Output:
	// 192.0.2.1 refused: false
	// 192.0.2.1 refused: false
	// true
	// 192.0.2.1 refused: true
	// false
}
