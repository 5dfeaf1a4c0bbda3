package replay

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Bars of any width have all that was counted, in order of time.
func TestBars(t *testing.T) {
	for _, step := range []int64{1e8, 1e9, 7e9, 60e9, 3600e9, 86400e9, 400 * 86400e9} {
		b := newBars(2)
		start := int64(1_791_640_537_000_000_000)
		var at []int64
		for i := range int64(1000) {
			now := start + i*step
			if now < 0 {
				break
			}
			b.rows[0][b.at(now)]++
			at = append(at, now)
		}
		counted := 0
		for i, n := range b.rows[0] {
			from := (b.first + int64(i)) * int64(b.width)
			inBar := 0
			for _, now := range at {
				if now >= from && now-from < int64(b.width) {
					inBar++
				}
			}
			require.Equal(t, inBar, n, "bar %d of step %d", i, step)
			counted += n
		}
		assert.Equal(t, len(at), counted)
		assert.LessOrEqual(t, len(b.rows[0]), maxBars)
		if step > 1e8 {
			assert.Greater(t, len(b.rows[0]), maxBars/6)
		}
		assert.Len(t, b.rows[1], len(b.rows[0]))
		assert.Zero(t, int64(24*time.Hour)%int64(min(b.width, 24*time.Hour)))
	}
	b := newBars(1)
	b.rows[0][b.at(0)]++
	b.rows[0][b.at(math.MaxInt64)]++
	assert.Equal(t, 1, b.rows[0][0])
}
