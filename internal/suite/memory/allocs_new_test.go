//go:build !race

// With the race detector this takes minutes, and shows nothing more.

package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// The table grows with new keys, but in few steps. Its first segments take 500 allocations; from
// there on there are at most three in two thousand new keys, or five if a state takes more than a
// word. (Larger segments would make fewer, and keep the call that divides one for longer.)
func TestNewKeysHardlyAllocate(t *testing.T) {
	n := runs.Long(500_000, 50_000)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = kit.KeyName(i)
	}
	for _, test := range []struct {
		policy weir.Policy
		most   int
	}{
		{weir.TokenBucket{Limit: 60, Per: time.Hour}, 500 + 3*n/2000},
		{weir.TokenBucket{Limit: 7, Per: time.Hour}, 500 + 5*n/2000},
		{weir.SlidingLog{Limit: 7, Per: time.Hour}, 500 + 5*n/2000},
	} {
		t.Run(fmt.Sprintf("%#v", test.policy), func(t *testing.T) {
			got := testing.AllocsPerRun(1, func() { // of a single run there is nothing to round
				l := weir.Must(weir.New(test.policy))
				for _, key := range keys {
					l.Allow(key)
				}
			})
			assert.LessOrEqual(t, int(got), test.most, "allocations of %d new keys", n)
		})
	}
}
