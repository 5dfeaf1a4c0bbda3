//go:build !race

// With the race detector this takes minutes, and shows nothing more.

package weir_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// The table grows with new keys, but in few steps: a limiter that sees a million makes at most one
// allocation in a thousand of them.
func TestNewKeysHardlyAllocate(t *testing.T) {
	const n = 1_000_000
	keys := newKeyring(n)
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 7, Per: time.Hour},
		weir.SlidingLog{Limit: 7, Per: time.Hour},
	} {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) {
			got := allocations(func() {
				l := weir.Must(weir.New(p))
				for i := range n {
					l.Allow(keys.at(i))
				}
			})
			assert.LessOrEqual(t, got, n/1000, "allocations of %d new keys", n)
		})
	}
}
