package weir_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// R4 and R21: a RetryAfter is found, too, beyond the end of an entry that is kept with the share of older ones.
func TestR4_BeyondAnEntryThatIsKeptWithTheShareOfOlderOnes(t *testing.T) {
	k := ledgerKey{t: t}
	for _, s := range []int{100, 5, 4, 3, 2} { // one more than are told apart
		require.True(t, k.ask(weir.SlidingLog{Limit: 10, Per: time.Duration(s) * time.Second}, t0, weir.Ask{N: 1}).Allowed)
	}
	all := weir.SlidingLog{Limit: 10, Per: time.Minute}
	got := k.ask(all, t0, weir.Ask{N: 10})
	require.Equal(t, []any{false, time.Minute}, []any{got.Allowed, got.RetryAfter})
	assert.False(t, k.ask(all, t0+int64(time.Minute)-1, weir.Ask{N: 10}).Allowed)
	assert.True(t, k.ask(all, t0+int64(time.Minute), weir.Ask{N: 10}).Allowed)
}
