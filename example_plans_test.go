package weir_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// Customers have plans. The plan of a key is looked up for each decision; a key that is promoted
// keeps what it has used up, in proportion.
func ExampleWithPolicyFor() {
	var (
		free weir.Policy = weir.TokenBucket{Limit: 10, Per: time.Minute}
		pro  weir.Policy = weir.TokenBucket{Limit: 1000, Per: time.Minute}
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

// A limit is changed while the service runs. What was counted counts on.
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
