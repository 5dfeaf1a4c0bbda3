package weir_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir"
)

// A sender is code such as yours: it makes its limiter itself, and knows nothing of tests.
type sender struct{ limiter weir.Limiter }

func newSender() *sender {
	return &sender{weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: time.Minute}))}
}

func (s *sender) send(ctx context.Context, _ string) error {
	return s.limiter.Wait(ctx, "provider", 1)
}

// Code that waits for a limiter is tested in a bubble of testing/synctest. Time stands
// still there while anybody works, and leaps to the next turn when all wait: this
// test of ten minutes takes no time. The limiter needs no clock to be handed over.
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
