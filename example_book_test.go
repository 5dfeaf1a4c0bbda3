package weir_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// book waits until n events of key are free, and books them. It books nothing ahead.
func book(ctx context.Context, limiter *weir.KeyedLimiter, key string, n int) (*weir.Reservation, error) {
	r := new(weir.Reservation)
	for {
		err := limiter.ReserveNow(ctx, key, n, r, nil)
		switch {
		case err != nil: // the store failed, or ctx has ended
			return nil, err
		case r.Allowed:
			return r, nil
		case r.RetryAfter == weir.Never: // n is above what the policy ever grants
			return nil, weir.ErrNeverFits
		}
		select {
		case <-time.After(r.RetryAfter):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Each call of a language model books an estimate when there are enough tokens. Afterwards it is
// charged the tokens that it used. Callers that find too few tokens wait, and book nothing while
// they wait.
func ExampleKeyedLimiter_ReserveNow() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tokens := weir.Must(weir.New(weir.TokenBucket{Limit: 1_000_000, Per: time.Minute, Burst: 500}))

	for _, used := range []int{100, 700, 20} {
		r, err := book(ctx, tokens, "ada", 400)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("booked", 400, "used", used, r.Settle(ctx, used))
	}
	_, err := book(ctx, tokens, "ada", 501)
	fmt.Println(err)

	// Output:
	// booked 400 used 100 <nil>
	// booked 400 used 700 <nil>
	// booked 400 used 20 <nil>
	// more events than the policy ever grants at once
}

// docs/reservations.md says how long ten jobs take if their estimates are far too high, with
// ReserveNow and with Reserve.
func TestBook_WrongEstimates(t *testing.T) {
	ahead := func(ctx context.Context, l *weir.KeyedLimiter, key string, n int) (*weir.Reservation, error) {
		r, err := l.Reserve(ctx, key, n)
		if err == nil {
			time.Sleep(r.Delay())
		}
		return r, err
	}
	for _, test := range []struct {
		name string
		book func(ctx context.Context, l *weir.KeyedLimiter, key string, n int) (*weir.Reservation, error)
		took time.Duration
	}{
		{"ReserveNow", book, 38 * time.Second},
		{"Reserve", ahead, 122 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			tokens := weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: time.Minute}))
			start := time.Now()
			var jobs sync.WaitGroup
			for range 10 {
				jobs.Go(func() {
					r, err := test.book(t.Context(), tokens, "ada", 300)
					if assert.NoError(t, err) {
						time.Sleep(2 * time.Second) // the work
						assert.NoError(t, r.Settle(t.Context(), 10))
					}
				})
			}
			jobs.Wait()
			assert.Equal(t, test.took, time.Since(start).Round(time.Second), test.name)
		})
	}
}

func TestBook_EndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Hour}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := book(ctx, tokens, "ada", 10)
		assert.NoError(t, err)
		start := time.Now()
		_, err = book(ctx, tokens, "ada", 10)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(start))
	})
}
