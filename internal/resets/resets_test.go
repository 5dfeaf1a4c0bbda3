package resets

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
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

// Whatever is reserved and reset, and however long it counts: exactly the reservations of keys that
// were reset since are forgotten.
func TestResetsForgetWhatWasReservedBefore(t *testing.T) {
	type reservation struct {
		key    string
		number uint64
		until  int64
		forgot bool
	}
	var rs Resets
	random, now, reserved := rand.New(rand.NewPCG(1, 2)), int64(10), []reservation{}
	for range 3000 {
		now += random.Int64N(second)
		key := fmt.Sprint(random.IntN(10))
		if random.IntN(2) == 0 {
			until := now + random.Int64N(20*second)
			rs.Reserved(until)
			reserved = append(reserved, reservation{key: key, number: rs.Number(), until: until})
		} else {
			rs.Reset(key, now)
			for i := range reserved {
				reserved[i].forgot = reserved[i].forgot || reserved[i].key == key
			}
		}
		reserved = slices.DeleteFunc(reserved, func(r reservation) bool { return r.until <= now })
		for _, r := range reserved {
			require.Equal(t, r.forgot, rs.Forgot(r.key, r.number))
		}
		require.LessOrEqual(t, rs.Len(), 20)
	}
}

// R22: keys that no longer count leave nothing behind, also if something else is reserved when they
// go.
func TestR22_ManyResetsLeaveNothing(t *testing.T) {
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	var rs Resets
	rs.Reserved(20 * second)
	before := heap()
	for i := range 50_000 {
		rs.Reset(fmt.Sprint("key ", i), 10)
	}
	require.Greater(t, heap(), before+1<<20)
	rs.Reserved(100 * second)
	rs.Reset("k", 50*second)
	assert.Less(t, heap(), before+1<<18)
	assert.Equal(t, 1, rs.Len())
}

// P23: a reset keeps no buffer of its caller alive.
func TestP23_AResetKeepsLittle(t *testing.T) {
	var rs Resets
	rs.Reserved(20)
	key := strings.Repeat("key", 1000)
	rs.Reset(key[:3], 10)
	require.Equal(t, 1, rs.Len())
	for kept := range rs.kept.young.keys {
		assert.Equal(t, "key", kept)
		assert.NotSame(t, unsafe.StringData(key), unsafe.StringData(kept))
	}
}
