package weir_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// Wait holds a worker back until its next message may go. Nothing is refused, and the order is
// kept.
func ExampleKeyedLimiter_Wait() {
	limiter := weir.Must(weir.New(weir.LeakyBucket{Limit: 100, Per: time.Second}))

	start := time.Now()
	for _, message := range []string{"one", "two", "three"} {
		if err := limiter.Wait(context.Background(), "provider", 1); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("send", message)
	}
	fmt.Println("took 20ms:", time.Since(start) >= 20*time.Millisecond)

	// Output:
	// send one
	// send two
	// send three
	// took 20ms: true
}

// A Wait that could not be granted in time fails at once, and counts nothing. So the time that is
// left can be spent on something better.
func ExampleKeyedLimiter_Wait_deadline() {
	limiter := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}))
	limiter.Allow("report")

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := limiter.Wait(ctx, "report", 1)

	fmt.Println(err)
	fmt.Println(errors.Is(err, weir.ErrTooLate), ctx.Err())

	// Output:
	// weir: Wait for 1 events: the turn would come after the context's deadline
	// true <nil>
}

// The queue of a LeakyBucket has as many places as its Capacity. When they are taken, Wait fails at
// once.
func ExampleKeyedLimiter_Wait_queueFull() {
	printer := weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: time.Minute, Capacity: 2}))

	ctx, goHome := context.WithCancel(context.Background())
	defer goHome()
	results := make(chan error, 10)
	for range 10 { // one prints, two wait, and the others are told at once that they can't
		go func() { results <- printer.Wait(ctx, "printer", 1) }()
	}
	full := 0
	for range 8 {
		if errors.Is(<-results, weir.ErrQueueFull) {
			full++
		}
	}
	fmt.Println(full, "found the queue full")

	// Output: 7 found the queue full
}
