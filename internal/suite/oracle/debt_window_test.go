package oracle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R14 and R19: a SlidingWindow in one word has room for a debt of as much again as its limit, and
// recovers from it as one in three words.
func TestR19_DebtOfASlidingWindowInOneWord(t *testing.T) {
	retryAfter := func(limit int) time.Duration {
		k := kit.NewKey(t, weir.SlidingWindow{Limit: limit, Per: time.Minute})
		start := int64(kit.T0) / int64(time.Minute) * int64(time.Minute)
		k.Ask(start, weir.Ask{N: 2 * limit, Mode: weir.Regardless})
		return k.Take(start, 1).RetryAfter
	}
	const largest = 65_535 // in one word
	assert.InDelta(t, retryAfter(largest+1), retryAfter(largest), float64(time.Millisecond))
	assert.Less(t, retryAfter(largest), 91*time.Second)
}
