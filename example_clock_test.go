package weir_test

import (
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weir-go/weir"
)

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
