package edge

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Keys are forgotten after their hold, also those that nobody asks for again.
func TestP23_HoldsThatArePastAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h holds
		for i := range 100_000 {
			h.hold(strconv.Itoa(i), time.Now(), time.Second)
			time.Sleep(10 * time.Millisecond) // so that 100 are held back at a time
			assert.LessOrEqual(t, len(h.until), 256)
		}
		time.Sleep(time.Second)
		assert.Zero(t, h.left("99999"))
		_, found := h.until["99999"]
		assert.False(t, found)
	})
}

// A flood of keys that are held back for long can't take more memory than maxHeld of them do.
func TestP23_HoldsAreBounded(t *testing.T) {
	var h holds
	now := time.Now()
	h.hold("long", now, 1000*time.Hour)
	for i := range runs.Long(3*maxHeld, maxHeld+maxHeld/4) {
		key := strconv.Itoa(i)
		h.hold(key, now, time.Hour+time.Duration(i))
		if len(h.until) > maxHeld || h.left(key) == 0 {
			t.Fatalf("%d keys, %v left for %s", len(h.until), h.left(key), key)
		}
	}
	assert.Len(t, h.until, maxHeld)
	assert.NotZero(t, h.left("long"), "whose hold ends last goes last")
}

func TestHolds_HoldsAtTheEndOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h holds
		h.hold("a", time.Now(), 1<<63-1)
		assert.Greater(t, h.left("a"), 200*365*24*time.Hour)
		time.Sleep(time.Hour)
		h.hold("a", time.Now(), time.Second)
		assert.Greater(t, h.left("a"), 200*365*24*time.Hour)
	})
}

// A hold that ends early, to make room for another, ends for the calls that it has held back, too.
func TestHolds_HeldCallsGoWhenTheHoldEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Hold("early", time.Minute, 0, 0)
		passed := make(chan error, 1)
		go func() {
			passed <- g.Pass(context.Background(), weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Second})), "early")
		}()
		synctest.Wait()
		for i := 0; !g.HeldUntil("early").IsZero(); i++ {
			g.Hold(strconv.Itoa(i), time.Hour, 0, 0)
		}
		begin := time.Now()
		assert.NoError(t, <-passed)
		assert.Zero(t, time.Since(begin))
	})
}
