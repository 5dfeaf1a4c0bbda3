package sliding

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func wordsOf(data []byte) []uint64 {
	words := make([]uint64, len(data)/8)
	for i := range words {
		words[i] = binary.BigEndian.Uint64(data[8*i:])
	}
	return words
}

func bytesOf(words ...uint64) []byte {
	var data []byte
	for _, w := range words {
		data = binary.BigEndian.AppendUint64(data, w)
	}
	return data
}

// FuzzWords looks for words of a state with which something panics, or does not end, or which are
// sound and then not.
func FuzzWords(f *testing.F) {
	f.Add(bytesOf(2, 3, 10<<1, 2<<1|1, 12<<1), uint64(5), uint64(10), uint64(3), int64(15), uint64(2), int64(12))
	f.Add(bytesOf(9, 3, 10<<1), uint64(5), uint64(10), uint64(2), int64(15), uint64(2), int64(12))
	f.Add(bytesOf(7, 1, math.MaxUint64, 3), uint64(5), uint64(10), uint64(2), int64(75), uint64(2), int64(12))
	f.Add(bytesOf(2, 1, 1), uint64(1), uint64(1), uint64(0), int64(0), uint64(1), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, limit, width, buckets uint64, now int64, n uint64, countedAt int64) {
		words := wordsOf(data)
		limit, width, now, countedAt = max(1, limit>>1), max(1, width>>1), max(0, now), max(0, countedAt)

		log, state := Log{Limit: limit, Per: width}, slices.Clone(words)
		log.Expiry(state)
		var v LogView
		sound := log.Sound(state)
		ok := log.View(&v, state, now)
		require.False(t, sound && !ok)
		if ok {
			v.GiveBack(n, countedAt)
			require.False(t, sound && !v.Intact())
			if v.Intact() {
				if v.Total > 0 {
					v.LeftAfter(min(max(n, 1), v.Total))
					v.EmptyAfter()
				}
				v.Take(n)
				require.True(t, v.Intact())
				if v.Total > 0 {
					v.LeftAfter(min(max(n, 1), v.Total))
					v.EmptyAfter()
				}
				require.False(t, sound && !log.Sound(v.State))
			}
		}

		counts, state := Counts{Limit: limit, Buckets: 1 + buckets%6, Most: math.MaxUint64}, slices.Clone(words)
		counts.Width = max(1, width/counts.Buckets)
		counts.Expiry(state)
		if counts.Sound(state) {
			v := counts.View(state, now)
			v.GiveBack(n, countedAt)
			v.Until(min(n, limit))
			v.Take(n)
			v.Until(0)
			require.True(t, counts.Sound(state))
		}
	})
}
