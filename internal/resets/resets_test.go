package resets

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const second = 1 << 30 // about

// A reset is known as long as something counts that was reserved before, and about a second longer.
func TestResets(t *testing.T) {
	var rs Resets
	rs.Reset("k", 10)
	assert.Zero(t, rs.Len(), "nothing was reserved")

	rs.Reserved(20 * second)
	before := rs.Number()
	assert.False(t, rs.Forgot("k", before))
	rs.Reset("k", 10)
	assert.True(t, rs.Forgot("k", before))
	assert.False(t, rs.Forgot("k", rs.Number()), "this is reserved since")
	assert.False(t, rs.Forgot("another", before))

	for i := range 1000 {
		rs.Reset(fmt.Sprint("key ", i), 20*second)
	}
	assert.Equal(t, 1001, rs.Len())
	rs.Reset("k", 21*second)
	assert.Zero(t, rs.Len())
}

// What is under way is not known yet. A reset that is not kept may be of its key.
func TestResetsWhileSomethingIsReserved(t *testing.T) {
	for name, open := range map[string]int64{"nothing else counts": 0, "something else ends before it": 20 * second} {
		var rs Resets
		rs.Reserved(open)
		before := rs.Number()
		rs.Reset("k", 10)
		rs.Reserved(100 * second)
		require.True(t, rs.Forgot("k", before), name)
		rs.Reset("another", 50*second)
		assert.True(t, rs.Forgot("k", before), name)
		assert.Equal(t, 1, rs.Len(), name)
	}
}

// P23: a reset keeps no buffer of its caller alive.
func TestP23_AResetKeepsLittle(t *testing.T) {
	var rs Resets
	rs.Reserved(20)
	key := strings.Repeat("key", 1000)
	rs.Reset(key[:3], 10)
	require.Equal(t, 1, rs.Len())
	for kept := range rs.keys {
		assert.Equal(t, "key", kept)
		assert.NotSame(t, unsafe.StringData(key), unsafe.StringData(kept))
	}
}
