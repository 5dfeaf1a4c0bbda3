package weir_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// One request is checked against five limits in one step. If one of the limits denies the request,
// it is charged to none of them.
func ExampleAll() {
	const day = 24 * time.Hour
	messages := weir.Must(weir.New(weir.All(
		weir.SlidingLog{Limit: 300, Per: time.Minute},
		weir.TokenBucket{Limit: 15_750, Per: time.Hour},
		weir.FixedWindow{Limit: 300_000, Per: day},
		weir.FixedWindow{Limit: 1_500_000, Per: 7 * day},
		weir.FixedWindow{Limit: 6_000_000, Per: 30 * day},
	)))
	ctx := context.Background()
	for range 2 {
		r, err := messages.Take(ctx, "route 1", 200)
		fmt.Println(r.Allowed, r.Remaining, r.DecidedBy, err)
	}
	// Output:
	// true 100 0 <nil>
	// false 100 0 <nil>
}

// TakeByComponent returns the result of each of several limits. A program can show these results,
// for example in header fields or on a page of quotas.
func ExampleKeyedLimiter_TakeByComponent() {
	names := []string{"minute", "day"}
	limiter := weir.Must(weir.New(weir.All(
		weir.SlidingLog{Limit: 2, Per: time.Minute},
		weir.SlidingLog{Limit: 1000, Per: 24 * time.Hour},
	)))
	var parts []weir.Result // the same slice for each request avoids allocations
	for range 3 {
		r, err := limiter.TakeByComponent(context.Background(), "ann", 1, &parts)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Print(r.Allowed)
		for i, part := range parts {
			fmt.Printf(" %s: %d of %d left", names[i], part.Remaining, part.Limit)
		}
		fmt.Println()
	}
	// Output:
	// true minute: 1 of 2 left day: 999 of 1000 left
	// true minute: 0 of 2 left day: 998 of 1000 left
	// false minute: 0 of 2 left day: 998 of 1000 left
}

// Requests beyond the usual rate, but within the burst, are served at a lower priority.
func ExampleTiers() {
	limiter := weir.Must(weir.New(weir.Tiers(
		weir.SlidingLog{Limit: 2, Per: time.Minute}, // promised
		weir.SlidingLog{Limit: 1, Per: time.Minute}, // if there is room
	)))
	for range 4 {
		r, err := limiter.Take(context.Background(), "ann", 1)
		switch {
		case err != nil || !r.Allowed:
			fmt.Println("refused")
		case r.DecidedBy == 0:
			fmt.Println("at once")
		default:
			fmt.Println("when there is room")
		}
	}
	// Output:
	// at once
	// at once
	// when there is room
	// refused
}

// The marker of a router marks the committed burst green, the excess burst yellow, and all else
// red.
func ExampleSingleRateMarker() {
	marker := weir.Must(weir.New(weir.SingleRateMarker{
		Committed: weir.TokenBucket{Limit: 1000, Per: time.Hour, Burst: 1500},
		Excess:    1500,
	}))
	for range 4 {
		r, err := marker.Take(context.Background(), "flow", 1000) // bytes
		switch {
		case err != nil || !r.Allowed:
			fmt.Println("red")
		case r.DecidedBy == 0:
			fmt.Println("green")
		default:
			fmt.Println("yellow")
		}
	}
	// Output:
	// green
	// yellow
	// red
	// red
}

func ExampleTwoRateMarker() {
	marker := weir.Must(weir.New(weir.TwoRateMarker{
		Committed: weir.TokenBucket{Limit: 1000, Per: time.Hour, Burst: 1500},
		Peak:      weir.TokenBucket{Limit: 2000, Per: time.Hour, Burst: 3000},
	}))
	for _, bytes := range []int{1000, 1000, 500, 1000} {
		r, err := marker.Take(context.Background(), "flow", bytes)
		switch {
		case err != nil || !r.Allowed:
			fmt.Println("red")
		case r.DecidedBy == 0:
			fmt.Println("green")
		default:
			fmt.Println("yellow")
		}
	}
	// Output:
	// green
	// yellow
	// green
	// red
}

// Components lists what a policy is composed of.
func ExampleComponents() {
	policy := weir.All(
		weir.TokenBucket{Limit: 300, Per: time.Minute},
		weir.FixedWindow{Limit: 10_000, Per: time.Hour},
	)
	for i, part := range weir.Components(policy) {
		fmt.Printf("%d: %v\n", i, part)
	}
	// Output:
	// 0: 300/1m
	// 1: fixed-window 10000/1h
}
