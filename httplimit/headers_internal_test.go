package httplimit

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The digits are those of strconv, in memory with and without room for them.
func TestAppendInt(t *testing.T) {
	numbers := []int64{math.MinInt64, -1, 0, math.MaxInt64}
	for power := int64(1); power <= sfMaxInteger; power *= 10 {
		numbers = append(numbers, power-1, power, power+1, 2*power-1, 9*power)
	}
	for bits := range 63 {
		numbers = append(numbers, 1<<bits-1, 1<<bits, 1<<bits+rand.Int64N(1<<bits))
	}
	for _, n := range numbers {
		want := "r=" + strconv.FormatInt(min(max(n, 0), sfMaxInteger), 10)
		assert.Equal(t, want, string(appendInt([]byte("r="), n)))
		assert.Equal(t, want, string(appendInt(append(make([]byte, 0, 32), "r="...), n)))
	}
}

// Both halves have the right digits, whatever the other half is.
func TestEightDigits(t *testing.T) {
	for half := range uint64(1e4) {
		n := half*1e4 + (1e4 - 1 - half)
		text := binary.LittleEndian.AppendUint64(nil, eightDigits(n))
		require.Equal(t, fmt.Sprintf("%08d", n), string(text))
	}
}
