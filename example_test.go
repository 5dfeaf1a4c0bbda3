package weir_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weir-go/weir"
)

// This limiter has a bucket of five tokens for each client. The first five requests of a client
// pass at once. After that, one request passes every twelve seconds.
func Example() {
	limiter := weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Minute}))

	for i := 1; i <= 6; i++ {
		fmt.Println("request", i, "of ada:", limiter.Allow("ada"))
	}
	fmt.Println("request 1 of bob:", limiter.Allow("bob"))

	// Output:
	// request 1 of ada: true
	// request 2 of ada: true
	// request 3 of ada: true
	// request 4 of ada: true
	// request 5 of ada: true
	// request 6 of ada: false
	// request 1 of bob: true
}

// Each account has three tries to log in per hour. The refusal says when to try again.
func Example_login() {
	now := clock.NewMock() // a real program leaves out this line and WithClock
	tries := weir.Must(weir.New(weir.SlidingLog{Limit: 3, Per: time.Hour}, weir.WithClock(now)))

	login := func(account, password string) error {
		switch r, err := tries.Take(context.Background(), account, 1); {
		case err != nil:
			return err
		case !r.Allowed:
			return fmt.Errorf("too many tries, come back in %s", r.RetryAfter)
		case password != "correct horse":
			return fmt.Errorf("wrong password, %d more tries", r.Remaining)
		}
		return nil
	}

	for _, password := range []string{"123456", "password", "letmein", "correct horse"} {
		fmt.Println(login("ada", password))
		now.Add(10 * time.Minute)
	}
	now.Add(20 * time.Minute) // now the first try is one hour old
	fmt.Println(login("ada", "correct horse"))

	// Output:
	// wrong password, 2 more tries
	// wrong password, 1 more tries
	// wrong password, 0 more tries
	// too many tries, come back in 30m0s
	// <nil>
}

// New returns all that is wrong with a policy at once, so that you can correct a configuration in
// one go.
func ExampleNew() {
	_, err := weir.New(weir.TokenBucket{Limit: 0, Per: -time.Second, Burst: -1})
	fmt.Println(err)

	// Output:
	// weir: weir.TokenBucket.Limit is 0, must be at least 1
	// weir: weir.TokenBucket.Per is -1s, must be at least 1ns
	// weir: weir.TokenBucket.Burst is -1, must be at least 0
}

// Must is for a limiter whose policy is written in the program.
func ExampleMust() {
	limiter := weir.Must(weir.New(weir.SlidingWindow{Limit: 1000, Per: time.Hour}))

	fmt.Println(limiter.Allow("203.0.113.7"))

	// Output: true
}

// An upload of several parts takes an event for each part, all or none. A request for no events
// shows how many are left.
func ExampleKeyedLimiter_Take() {
	ctx := context.Background()
	limiter := weir.Must(weir.New(weir.FixedWindow{Limit: 10, Per: 24 * time.Hour, FromFirst: true}))

	for _, parts := range []int{6, 5, 4, 11} {
		r, err := limiter.Take(ctx, "ada", parts)
		switch {
		case err != nil:
			fmt.Println(err)
		case r.Allowed:
			fmt.Println(parts, "parts are welcome,", r.Remaining, "left today")
		case r.RetryAfter == weir.Never:
			fmt.Println(parts, "parts are more than a day allows")
		default:
			fmt.Println(parts, "parts are too many today")
		}
	}
	r, _ := limiter.Take(ctx, "ada", 0)
	fmt.Println(r.Remaining, "of", r.Limit, "left")

	// Output:
	// 6 parts are welcome, 4 left today
	// 5 parts are too many today
	// 4 parts are welcome, 0 left today
	// 11 parts are more than a day allows
	// 0 of 10 left
}

// The zero Result denies. A program that forgets to check err therefore refuses too much rather
// than too little.
func ExampleResult() {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	limiter := weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Second}))

	r, err := limiter.Take(canceled, "ada", 1)
	fmt.Println(r.Allowed, errors.Is(err, context.Canceled))

	// Output: false true
}

// With the mock clock of github.com/benbjohnson/clock, a test moves time itself.
func ExampleWithClock() {
	mock := clock.NewMock()
	limiter := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithClock(mock)))

	fmt.Println(limiter.Allow("ada"))
	fmt.Println(limiter.Allow("ada"))
	mock.Add(time.Hour)
	fmt.Println(limiter.Allow("ada"))

	// Output:
	// true
	// false
	// true
}

// A sender is code such as yours: it makes its limiter itself, and knows nothing of tests.
type sender struct{ limiter weir.Limiter }

func newSender() *sender {
	return &sender{weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: time.Minute}))}
}

func (s *sender) send(ctx context.Context, _ string) error {
	return s.limiter.Wait(ctx, "provider", 1)
}

// Code that waits for a limiter is tested in a bubble of testing/synctest. In the bubble, time
// stands still while any goroutine works. When all goroutines wait, time leaps to the next turn:
// this test of ten minutes takes no real time. The code need not pass a clock to the limiter.
func TestExampleOfSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender()
		start := time.Now()
		for range 11 {
			if err := s.send(t.Context(), "hello"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 10*time.Minute {
			t.Errorf("11 messages took %s, must be exactly 10m", took)
		}
	})
}
