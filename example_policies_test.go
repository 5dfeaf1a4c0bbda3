package weir_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weir-go/weir"
)

// An API accepts ten requests at once, and two a second in the long run.
func ExampleTokenBucket() {
	now := clock.NewMock()
	api := weir.Must(weir.New(weir.TokenBucket{Limit: 2, Per: time.Second, Burst: 10}, weir.WithClock(now)))

	for range 4 {
		fmt.Println(now.Now().UTC().Format(time.TimeOnly), passed(api, "ada", 100), "of 100")
		now.Add(3 * time.Second)
	}

	// Output:
	// 00:00:00 10 of 100
	// 00:00:03 6 of 100
	// 00:00:06 6 of 100
	// 00:00:09 6 of 100
}

// A door lets one person in every 250 ms, even if nobody came for an hour before.
func ExampleLeakyBucket() {
	now := clock.NewMock()
	door := weir.Must(weir.New(weir.LeakyBucket{Limit: 4, Per: time.Second}, weir.WithClock(now)))

	now.Add(time.Hour)
	for at := 0; at <= 600; at += 100 {
		fmt.Println(at, "ms:", door.Allow("door"))
		now.Add(100 * time.Millisecond)
	}

	// Output:
	// 0 ms: true
	// 100 ms: false
	// 200 ms: false
	// 300 ms: true
	// 400 ms: false
	// 500 ms: false
	// 600 ms: true
}

// A plan allows a thousand messages a day. All days start at midnight, UTC.
func ExampleFixedWindow() {
	now := clock.NewMock()
	now.Add(22 * time.Hour) // ten in the evening
	plan := weir.Must(weir.New(weir.FixedWindow{Limit: 1000, Per: 24 * time.Hour}, weir.WithClock(now)))

	r, _ := plan.Take(context.Background(), "ada", 1000)
	fmt.Println("all sent:", r.Allowed)
	r, _ = plan.Take(context.Background(), "ada", 1)
	fmt.Println("one more:", r.Allowed, "for another", r.RetryAfter)

	// Output:
	// all sent: true
	// one more: false for another 2h0m0s
}

// With FromFirst, each key's day starts with its first message.
func ExampleFixedWindow_fromFirst() {
	now := clock.NewMock()
	now.Add(22 * time.Hour) // ten in the evening
	plan := weir.Must(weir.New(
		weir.FixedWindow{Limit: 1000, Per: 24 * time.Hour, FromFirst: true}, weir.WithClock(now)))

	r, _ := plan.Take(context.Background(), "ada", 1000)
	fmt.Println("all back in", r.ResetAfter)

	// Output:
	// all back in 24h0m0s
}

// Around the full minute, FixedWindow lets a client use the limits of two minutes within two
// seconds. SlidingWindow also counts the events of the minute before.
func ExampleSlidingWindow() {
	now := clock.NewMock()
	fixed := weir.Must(weir.New(weir.FixedWindow{Limit: 60, Per: time.Minute}, weir.WithClock(now)))
	sliding := weir.Must(weir.New(weir.SlidingWindow{Limit: 60, Per: time.Minute}, weir.WithClock(now)))

	for _, at := range []time.Duration{59 * time.Second, 61 * time.Second, 90 * time.Second} {
		now.Set(time.Unix(0, 0).Add(at))
		fmt.Println(at, "fixed:", passed(fixed, "ada", 100), "sliding:", passed(sliding, "ada", 100))
	}

	// Output:
	// 59s fixed: 60 sliding: 60
	// 1m1s fixed: 60 sliding: 1
	// 1m30s fixed: 0 sliding: 29
}

// A phone number gets at most three codes in any ten minutes.
func ExampleSlidingLog() {
	now := clock.NewMock()
	codes := weir.Must(weir.New(weir.SlidingLog{Limit: 3, Per: 10 * time.Minute}, weir.WithClock(now)))

	for range 7 {
		r, _ := codes.Take(context.Background(), "+1 555 0100", 1)
		if r.Allowed {
			fmt.Println(now.Now().UTC().Format(time.TimeOnly), "sent")
		} else {
			fmt.Println(now.Now().UTC().Format(time.TimeOnly), "wait", r.RetryAfter)
		}
		now.Add(2 * time.Minute)
	}

	// Output:
	// 00:00:00 sent
	// 00:02:00 sent
	// 00:04:00 sent
	// 00:06:00 wait 4m0s
	// 00:08:00 wait 2m0s
	// 00:10:00 sent
	// 00:12:00 sent
}

// passed is how many of n simultaneous requests the limiter allows.
func passed(l weir.Limiter, key string, n int) int {
	allowed := 0
	for range n {
		if l.Allow(key) {
			allowed++
		}
	}
	return allowed
}

// A plan allows a thousand messages a month. This customer's months start on the 31st, or on the
// last day of a shorter month, at midnight in Berlin. Clocks there are put forward in March.
func ExampleCalendarWindow() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	now := clock.NewMock()
	plan := weir.Must(weir.New(
		weir.CalendarWindow{Limit: 1000, Unit: weir.Month, Location: "Europe/Berlin", Start: 31},
		weir.WithClock(now)))

	now.Set(time.Date(2026, time.February, 27, 12, 0, 0, 0, berlin))
	for range 3 {
		r, _ := plan.Take(context.Background(), "ada", 1000)
		back := now.Now().Add(r.ResetAfter)
		fmt.Println(r.Allowed, "and all are back on", back.In(berlin).Format(time.RFC1123))
		now.Set(back)
	}

	// Output:
	// true and all are back on Sat, 28 Feb 2026 00:00:00 CET
	// true and all are back on Tue, 31 Mar 2026 00:00:00 CEST
	// true and all are back on Thu, 30 Apr 2026 00:00:00 CEST
}
