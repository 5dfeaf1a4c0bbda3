package weir_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
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
