package iolimit_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/iolimit"
)

// Whatever the sizes of the burst and of the buffers: all bytes pass, in order, within the policy,
// and at the instant at which the last of them is earned.
func FuzzSizes(f *testing.F) {
	f.Add(uint16(100), uint16(7), []byte{1, 200, 3})
	f.Add(uint16(4095), uint16(4095), []byte{255})
	f.Add(uint16(1), uint16(1000), []byte{9, 0, 9})
	f.Fuzz(func(t *testing.T, burst, buffer uint16, writes []byte) {
		p := weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: int(burst%5000) + 1}
		if len(writes) > 10 { // with a burst of 1 each byte passes by itself, and all spans are looked at
			writes = writes[:10]
		}
		synctest.Test(t, func(t *testing.T) {
			var out sink
			w := iolimit.NewWriter(t.Context(), &out, limitOf(p))
			var want []byte
			start := time.Now()
			for i, size := range writes {
				part := bytes.Repeat([]byte{byte(i)}, int(size)*7)
				n, err := w.Write(part)
				require.NoError(t, err)
				require.Len(t, part, n)
				want = append(want, part...)
			}
			owed := time.Duration(max(len(want)-p.Burst, 0)) * time.Millisecond
			assert.Equal(t, owed, time.Since(start))
			assert.True(t, bytes.Equal(want, out.Bytes()))
			out.within(t, most(p, 0))

			var in flow
			start = time.Now()
			got := in.readAll(t, iolimit.NewReader(t.Context(), bytes.NewReader(want), limitOf(p)), int(buffer%5000)+1)
			assert.Equal(t, owed, time.Since(start))
			assert.True(t, bytes.Equal(want, got))
			in.within(t, most(p, 0))
		})
	})
}
