package table

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// Every state has a block that holds it, with at most a quarter to spare, and of few sizes.
func TestSlabBlockSize(t *testing.T) {
	last, sizes := 0, 0
	for n := 1; n < 1<<17; n++ {
		size := blockSize(n)
		if size < max(n, last) || size > n+n/4 || blockSize(size) != size { // require would take most of the time
			t.Fatalf("%d for %d words, after %d; %d for as many", size, n, last, blockSize(size))
		}
		if size > last {
			sizes++
		}
		last = size
	}
	require.Equal(t, 8+4*(17-3), sizes)
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
	var table Table
	s := &table.slab
	hash := func() Hash { return Hash{a: random.Uint64()} }
	kept := map[Ref][]uint64{}
	anyRef := func() Ref {
		for r := range kept {
			return r
		}
		return 0
	}
	rounds := runs.Long(20_000, 6000)
	for round := range rounds {
		if round == rounds/2 {
			s.divide(4)
		}
		switch r := anyRef(); {
		case len(kept) < 10 || random.IntN(5) == 0 && len(kept) < 500:
			words := content()
			r := s.add(hash(), words)
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
			moved := table.Update(hash(), r, s.get(r), state)
			delete(kept, r)
			require.NotContains(t, kept, moved)
			kept[moved] = words
		}
	}
	for r, words := range kept {
		require.Equal(t, words, s.get(r))
		s.remove(r)
	}
	left := map[*slabClass]int{}
	for _, p := range s.pages.Load().all {
		if p != nil {
			assert.Zero(t, p.used.Load())
			left[p.class]++
			assert.LessOrEqual(t, p.size, firstPage, "a page is given back, unless it is small")
			assert.Equal(t, 1, left[p.class], "one page of a size is kept on a shelf")
		}
	}
}

// R22: a state that grows has room for two words more, and three fifths of its words. One that
// shrinks keeps its room until it uses a quarter of it.
func TestR22_SlabHasLittleRoomToSpare(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var table Table
	for range runs.Long(500, 50) {
		r, n := table.slab.add(Hash{}, []uint64{1}), 1
		step := func(change int) (size int) {
			at, block := table.WithRoom(Hash{}, r, 0)
			state := block[:n+min(change, 0)]
			state = append(state, make([]uint64, max(change, 0))...)
			r, n = table.Update(Hash{}, at, block, state), len(state)
			return cap(table.slab.get(r))
		}
		for most := random.IntN(1000); n < most; {
			size := step(1 + random.IntN(3))
			require.LessOrEqual(t, size-n, 2+n*3/5, "of %d words", n)
		}
		for n > 1 {
			size := step(-random.IntN(min(n, 20)))
			require.LessOrEqual(t, size-n, max(7, 3*n+3), "of %d words", n)
		}
	}
}

// R22: blocks that are spread over many pages come together when they are packed, and keep what
// they hold.
func TestR22_SlabPacks(t *testing.T) {
	const blocks, every = 100_000, 100
	var s slab
	words := func() (n int) {
		for _, p := range s.pages.Load().all {
			if p != nil {
				n += len(p.words)
			}
		}
		return n
	}
	refs := make([]Ref, blocks)
	for i := range refs {
		refs[i] = s.add(Hash{}, []uint64{uint64(i), 1, 2})
	}
	kept := map[uint64]Ref{}
	for i, r := range refs {
		if i%every == 0 {
			kept[uint64(i)] = r
		} else {
			s.remove(r)
		}
	}
	require.Greater(t, words(), 2*blocks, "all pages have a block that stays")
	for range 2 {
		for i, r := range kept {
			kept[i] = s.pack(r)
		}
	}
	require.Less(t, words(), 4*3*blocks/every)
	for i, r := range kept {
		require.Equal(t, []uint64{i, 1, 2}, s.get(r))
		s.remove(r)
	}
	require.LessOrEqual(t, words(), firstPage)
}

// Goroutines that hold entries of their own share a slab: nobody's state gets into another's block.
func TestSlabIsShared(t *testing.T) {
	const goroutines, rounds, longest = 8, 3000, 40
	var table Table
	s := &table.slab
	var wg sync.WaitGroup
	for g := range uint64(goroutines) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(g, 1))
			var refs [20]Ref
			for i := range refs {
				refs[i] = s.add(Hash{a: random.Uint64()}, []uint64{g})
			}
			for round := range rounds {
				if g == 0 && round == rounds/2 {
					s.divide(4)
				}
				r, h := &refs[random.IntN(len(refs))], Hash{a: random.Uint64()}
				at, block := table.WithRoom(h, *r, 0)
				for _, word := range block {
					if word != g {
						t.Errorf("goroutine %d found %d", g, word)
						return
					}
				}
				state := append(block, g)
				if len(state) > longest || random.IntN(10) == 0 {
					state = state[:1+random.IntN(len(state))]
				}
				*r = table.Update(h, at, block, state)
				if random.IntN(5) == 0 {
					*r = s.pack(*r)
				}
			}
			for _, r := range refs {
				s.remove(r)
			}
		})
	}
	wg.Wait()
	for _, p := range s.pages.Load().all {
		if p != nil {
			assert.Zero(t, p.used.Load())
			assert.LessOrEqual(t, p.size, firstPage)
		}
	}
}
