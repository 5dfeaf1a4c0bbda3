package weir_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// A mailing of 250 messages goes out in batches, each as large as the provider takes at that time.
func ExampleKeyedLimiter_TakeUpTo() {
	provider := weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 100}))

	sent, left := 0, 250
	for left > 0 {
		granted, r, err := provider.TakeUpTo(context.Background(), "mail", left)
		if err != nil {
			fmt.Println(err)
			return
		}
		sent, left = sent+granted, left-granted // send the batch here
		time.Sleep(r.RetryAfter)                // zero if any were granted
	}
	fmt.Println(sent, "sent")

	// Output: 250 sent
}

// The cost of a call to a language model is known only when the call is over. Until then an
// estimate is reserved.
func ExampleKeyedLimiter_Reserve() {
	tokens := weir.Must(weir.New(weir.TokenBucket{Limit: 60_000, Per: time.Hour, Burst: 10_000}))

	complete := func(prompt string) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		r, err := tokens.Reserve(ctx, "ada", 4000)
		switch {
		case err != nil:
			fmt.Println(prompt, err)
			return
		case !r.Allowed:
			fmt.Println(prompt, "denied: not within 5m")
			return
		}
		defer r.Cancel(context.Background()) // does nothing once it is settled
		fmt.Println(prompt, "may go in", r.Delay().Round(time.Minute))
		// Sleep for r.Delay(), call the model, and then: r.Settle(ctx, used)
		if prompt == "first" {
			_ = r.Settle(ctx, 1000)
		} else {
			_ = r.Settle(ctx, 8000)
		}
	}
	for _, prompt := range []string{"first", "second", "third", "fourth"} {
		complete(prompt)
	}

	// Output:
	// first may go in 0s
	// second may go in 0s
	// third may go in 3m0s
	// fourth denied: not within 5m
}

// If less is used than was booked, the rest is given back. If more is used, the difference is
// charged, even if there is not as much left.
func ExampleReservation_Settle() {
	ctx := context.Background()
	bytes := weir.Must(weir.New(weir.FixedWindow{Limit: 1000, Per: 24 * time.Hour, FromFirst: true}))

	for _, actual := range []int{100, 600, 500} {
		r, err := bytes.Reserve(ctx, "download", 300)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := r.Settle(ctx, actual); err != nil {
			fmt.Println(err)
			return
		}
		left, _ := bytes.Take(ctx, "download", 0)
		fmt.Println("booked", r.Allowed, "used", actual, "left", left.Remaining)
	}

	// Output:
	// booked true used 100 left 900
	// booked true used 600 left 300
	// booked true used 500 left 0
}

// A call needs events of two limiters. If the second limiter denies, the events booked with the
// first are given back.
func ExampleReservation_Cancel() {
	ctx := context.Background()
	requests := weir.Must(weir.New(weir.SlidingLog{Limit: 10, Per: time.Hour}))
	tokens := weir.Must(weir.New(weir.SlidingLog{Limit: 1000, Per: time.Hour}))

	for range 3 {
		request, err := requests.Reserve(ctx, "ada", 1)
		if err != nil || !request.Allowed {
			return
		}
		token, err := tokens.Reserve(ctx, "ada", 400)
		if err != nil || !token.Allowed {
			_ = request.Cancel(ctx)
		}
	}
	left, _ := requests.Take(ctx, "ada", 0)
	fmt.Println(left.Remaining, "requests left: the third was not charged")

	// Output: 8 requests left: the third was not charged
}

// Delay tells a caller when its turn comes, without blocking. The caller can do something else
// until then.
func ExampleReservation_Delay() {
	ctx := context.Background()
	printer := weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: time.Minute, Capacity: 10}))

	for _, name := range []string{"ada", "bob", "eve"} {
		r, err := printer.Reserve(ctx, "printer", 1)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(name, "prints in", r.Delay().Round(time.Minute))
	}

	// Output:
	// ada prints in 0s
	// bob prints in 1m0s
	// eve prints in 2m0s
}

// Only failed logins are charged. An event is taken before the password is checked, so that guesses
// at the same time can't all pass. If the password was right, the event is returned.
func ExampleKeyedLimiter_Return() {
	ctx := context.Background()
	failures := weir.Must(weir.New(weir.SlidingLog{Limit: 3, Per: time.Hour}))

	login := func(password string) string {
		if !failures.Allow("ada") {
			return "too many failures"
		}
		if password != "lovelace" {
			return "wrong"
		}
		_ = failures.Return(ctx, "ada", 1)
		return "welcome"
	}
	for range 10 {
		login("lovelace")
	}
	for range 3 {
		fmt.Println(login("byron"))
	}
	fmt.Println(login("lovelace"))

	// Output:
	// wrong
	// wrong
	// wrong
	// too many failures
}

// The help desk unlocks an account.
func ExampleKeyedLimiter_Reset() {
	ctx := context.Background()
	failures := weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: 24 * time.Hour}))

	fmt.Println(failures.Allow("ada"), failures.Allow("ada"))
	if err := failures.Reset(ctx, "ada"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(failures.Allow("ada"))

	// Output:
	// true false
	// true
}

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

// If the events of a Wait cannot be granted in time, the Wait fails at once, and counts nothing.
// The caller can use the time that is left for something else.
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
	for range 10 { // one prints, two wait, and the others get ErrQueueFull at once
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
