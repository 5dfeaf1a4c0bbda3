package script

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// Values outlive the process that wrote them. If a later release gave a policy another head, its
// processes would charge the keys of the earlier ones anew, or refuse their values.
func TestHeadsStay(t *testing.T) {
	bucket := weir.TokenBucket{Limit: 300, Per: time.Minute}
	for _, test := range []struct {
		policy weir.Policy
		head   string
	}{
		{bucket, "\x01\xac\x02\x80\xb0\x9d\xc2\xdf\x01\xac\x02"},
		{weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 50}, "\x02\n\x80\x94\xeb\xdc\x032"},
		{weir.FixedWindow{Limit: 10, Per: time.Second}, "\x03\n\x80\x94\xeb\xdc\x03\x00"},
		{weir.FixedWindow{Limit: 10, Per: time.Second, FromFirst: true}, "\x04\n\x80\x94\xeb\xdc\x03\x00"},
		{weir.SlidingWindow{Limit: 10, Per: time.Second, Buckets: 5}, "\x05\n\x80\x94\xeb\xdc\x03\x05"},
		{weir.SlidingLog{Limit: 10, Per: time.Second}, "\x06\n\x80\x94\xeb\xdc\x03\x00"},
	} {
		assert.Equal(t, test.head, headOf(test.policy), "%#v", test.policy)
		r := read(test.head)
		p, err := new(Engine).readPlan(&r)
		require.NoError(t, err)
		assert.Equal(t, test.head, p.head)
		assert.True(t, r.ok && r.s == "", "%q", r.s)
	}
}

// Processes whose int has more bits write limits that an int does not hold here. Such a policy is
// not taken for another one.
func TestLimitsBeyondAnInt(t *testing.T) {
	const large, small = 5_000_000_000, 5
	for _, numbers := range [][3]uint64{{large, uint64(time.Minute), small}, {large, uint64(time.Minute), large}} {
		head := []byte{kindTokenBucket}
		for _, n := range numbers {
			head = binary.AppendUvarint(head, n)
		}
		r := read(string(head))
		p, err := new(Engine).readPlan(&r)
		if uint64(math.MaxInt) < large {
			require.ErrorIs(t, err, errValue)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, string(head), p.head)
	}
}
