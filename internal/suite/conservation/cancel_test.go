package conservation_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// slowToWait returns a limiter of 1000 events whose store takes its time for a Wait. Calls that give
// back have to wait for it.
func slowToWait(takes time.Duration) *weir.KeyedLimiter {
	mem := new(weir.MemStore)
	return weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: 24 * time.Hour}, weir.WithStore(
		kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.MaxWait > 0 {
				time.Sleep(takes)
			}
			return mem.Do(ctx, r)
		}))))
}

// A Cancel that is deferred gives back no more than a Settle that failed before the store was asked.
func TestReservation_ADeferredCancelKeepsWhatWasUsed(t *testing.T) {
	for _, used := range []int{390, 0, 500} {
		synctest.Test(t, func(t *testing.T) {
			l := slowToWait(1500 * time.Millisecond)
			var r weir.Reservation
			for _, settles := range []bool{true, false} { // the same Reservation once more
				require.NoError(t, l.ReserveNow(t.Context(), "k", 400, &r, nil))
				waited := make(chan error)
				go func() { waited <- l.Wait(t.Context(), "k", 1) }()
				synctest.Wait()
				gone, hangUp := context.WithCancel(t.Context())
				hangUp()
				counted := 0
				if settles {
					counted = used
					err := r.Settle(gone, used)
					assert.Equal(t, used <= 400, err != nil, "to give back, it waits for its line, a second at most")
				} else {
					assert.Error(t, r.Cancel(gone))
				}
				assert.NoError(t, r.Cancel(gone))
				assert.NoError(t, <-waited)
				assert.Equal(t, 999-counted, kit.Take(t, l, "k", 0).Remaining)
				require.NoError(t, l.Reset(t.Context(), "k"))
			}
		})
	}
}

// The same holds if that Settle had to wait for another call of the Reservation, which failed, too.
func TestReservation_ADeferredCancelAfterAnotherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := slowToWait(10 * time.Second)
		r := kit.Reserve(t, l, 400)
		waited, canceled := make(chan error), make(chan error)
		go func() { waited <- l.Wait(t.Context(), "k", 1) }()
		synctest.Wait()
		go func() {
			patient, stop := context.WithTimeout(t.Context(), 5*time.Second)
			defer stop()
			canceled <- r.Cancel(patient)
		}()
		synctest.Wait()
		gone, hangUp := context.WithCancel(t.Context())
		hangUp()
		assert.Error(t, r.Settle(gone, 390))
		assert.Error(t, <-canceled)
		assert.NoError(t, <-waited)
		assert.NoError(t, r.Cancel(gone))
		assert.Equal(t, 609, kit.Take(t, l, "k", 0).Remaining)
	})
}
