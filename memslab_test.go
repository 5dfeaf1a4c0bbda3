package weir

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every size belongs to a class of blocks that hold it, with at most a quarter to spare.
func TestSlabClass(t *testing.T) {
	last, lastSize := 0, 0
	for n := 1; n < 1<<17; n++ {
		number, size := class(n)
		require.GreaterOrEqual(t, size, n)
		require.LessOrEqual(t, size, n+n/4, "for %d words", n)
		require.GreaterOrEqual(t, number, last)
		require.Equal(t, number == last, size == lastSize, "for %d words: one size for a class", n)
		again, same := class(size)
		require.Equal(t, [2]int{number, size}, [2]int{again, same})
		last, lastSize = number, size
	}
}

// A slab is driven at random beside a map of slices: what it keeps stays as it was put.
func TestSlabKeepsWhatItIsGiven(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	content := func() []uint64 {
		n := 2 + random.IntN(12)
		if random.IntN(50) == 0 {
			n = random.IntN(3*wholePage) + 1
		}
		words := make([]uint64, n)
		for i := range words {
			words[i] = random.Uint64()
		}
		return words
	}
	var s slab
	kept := map[ref][]uint64{}
	anyRef := func() ref {
		for r := range kept {
			return r
		}
		return 0
	}
	for range 20000 {
		switch r := anyRef(); {
		case len(kept) < 10 || random.IntN(5) == 0 && len(kept) < 500:
			words := content()
			r := s.add(words, random.IntN(2) == 0)
			require.NotContains(t, kept, r)
			kept[r] = words
		case random.IntN(4) == 0:
			require.Equal(t, kept[r], s.get(r))
			s.remove(r)
			delete(kept, r)
		default: // as a decision does: in place, shorter, or appended to
			words := kept[r]
			state := s.get(r)
			require.Equal(t, words, state)
			switch random.IntN(3) {
			case 0:
				state[0]++
			case 1:
				state = state[:1+random.IntN(len(state))]
			default:
				state = append(state, content()...)
			}
			words = append([]uint64(nil), state...)
			moved := s.update(r, s.get(r), state)
			delete(kept, r)
			require.NotContains(t, kept, moved)
			kept[moved] = words
		}
	}
	for r, words := range kept {
		require.Equal(t, words, s.get(r))
		s.remove(r)
	}
	left := map[int]int{}
	for _, p := range *s.pages.Load() {
		if p != nil {
			assert.Zero(t, p.used)
			left[p.size]++
			assert.LessOrEqual(t, p.size, wholePage, "a large block has a page of its own, which is given back")
			assert.Equal(t, 1, left[p.size], "one page of a size is kept")
		}
	}
}
