package table

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// All has each entry that is there all the time once, whatever others do between two of them: the
// table grows and shrinks, and entries come, go and change.
func TestAllWhileTheTableChanges(t *testing.T) {
	const stay = 1000
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 7))
		join := newTable(t, 0)
		users := []*user{join(true), join(false), lists{join(false)}.user}
		u := users[0]
		keys := map[Hash]int{}
		put := func(key int) {
			by := users[random.IntN(2)]
			by.put(key, 1<<40+random.Uint64N(100))
		}
		for key := range stay {
			put(key)
			a, b := u.hash(key).Saved()
			h, ok := SavedHash(a, b)
			require.True(t, ok)
			keys[h] = key
		}
		seen, other := map[int]bool{}, stay
		for c := range u.All() {
			a, b := c.Hash.Saved()
			h, _ := SavedHash(a, b)
			if key, stays := keys[h]; stays {
				require.False(t, seen[key], "twice")
				seen[key] = true
				require.Equal(t, u.get(key), c.Content)
			}
			for range random.IntN(8) {
				put(other)
				other++
				put(random.IntN(stay))
				u.Forget(u.hash(stay + random.IntN(other-stay)))
			}
		}
		require.Len(t, seen, stay)
	}
}

// Restore puts the states that All returns into another table. Expired states are in neither.
func TestRestore(t *testing.T) {
	join := newTable(t, 3)
	single, several := join(true), join(false)
	single.put(1, 10)
	single.put(2, 20)
	several.put(3, 30, 1, 2, 3)
	shared := single.Overflow(single.hash(4), single.hash(-1))
	s := single.Lock(shared)
	require.True(t, single.Add(s, shared, Content{single.Writer, []uint64{40}}))
	s.Unlock()
	single.time.now.Store(10)

	into := newTable(t, 1)
	singleInto, severalInto := into(true), into(false)
	singleInto.time.now.Store(20)
	n := 0
	for c := range single.All() {
		n++
		by := singleInto.Writer
		if c.By == several.Writer {
			by = severalInto.Writer
		}
		require.True(t, singleInto.Restore(c.Hash, Content{by, c.Words}))
	}
	assert.Equal(t, 3, n, "1 has expired")
	assert.Zero(t, singleInto.get(2), "has expired since")
	assert.Equal(t, Content{severalInto.Writer, []uint64{30, 1, 2, 3}}, singleInto.get(3))
	assert.Equal(t, 1, singleInto.Len())
	assert.True(t, singleInto.Overflows())
	assert.False(t, singleInto.Restore(singleInto.hash(3), Content{severalInto.Writer, []uint64{30}}), "is there")
	require.True(t, singleInto.Restore(singleInto.hash(5), Content{singleInto.Writer, []uint64{50}}), "above the bound")
	assert.Equal(t, 2, singleInto.Len())
	assert.False(t, singleInto.put(6, 60), "there is no room")
}

// A table that grows while it is read gives the entries of a long range in the order of their
// hashes, when there are few others. All can be restored, also those that stand for keys without
// one.
func TestRestoreInTheOrderOfHashes(t *testing.T) {
	for _, overflow := range []uint64{0, overflowBit} {
		u := newTable(t, 0)(true)
		hashes := make([]Hash, 220_000)
		for i := range hashes {
			hashes[i] = u.hash(i)
			hashes[i].b |= overflow
		}
		slices.SortFunc(hashes, func(g, h Hash) int { return cmp.Compare(g.a, h.a) })
		for i, h := range hashes {
			if !u.Restore(h, Content{u.Writer, []uint64{1 << 40}}) {
				t.Fatalf("refused after %d of %d", i, len(hashes))
			}
		}
		u.each(func(s *Segment) { require.Less(t, s.live, maxSlots) })
	}
}

// R21: hashes that begin alike, as those of a made-up file may, do not make the table divide for
// ever. After some thousands, no more are taken.
func TestR21_RestoreOfHashesThatAreAlike(t *testing.T) {
	for _, overflow := range []uint64{overflowBit, 0}[:runs.Long(2, 1)] {
		u, n := newTable(t, 0)(true), uint64(0)
		for n < 50_000 && u.Restore(Hash{n<<1 | 1, n<<30 | overflow}, Content{u.Writer, []uint64{1 << 40}}) {
			n++
		}
		require.Greater(t, n, uint64(maxSlots))
		require.Less(t, n, uint64(4*maxSlots))
		require.LessOrEqual(t, uint64(len(u.dir.Load().segments)), max(n/2, 1<<u.firstDepth))
	}
}

// R21: if all entries of a segment that divides go to the same heir, that heir has an empty slot, too.
// Otherwise the search for a key that is not there would never end.
func TestR21_DivisionThatDividesNothing(t *testing.T) {
	u := newTable(t, 0)(true)
	content := Content{u.Writer, []uint64{1 << 40}}
	restore := func(a uint64) {
		require.True(t, u.Restore(Hash{a, a << 30}, content))
	}
	spread := uint64(1) // so that the others are no reason not to divide
	for ; spread < 20_000; spread++ {
		restore(bits.Reverse64(spread<<1|1) | 1) // which begins with another bit
	}
	divided := 0
	for n := uint64(1); n < maxSlots; n++ {
		s := u.dir.Load().at(n).Load()
		if s.live > maxSlots*5/8 && s.full() {
			restore(1<<(63-s.depth) | n<<1 | 1) // beside all the others
			divided++
			u.each(func(s *Segment) {
				empty := false
				for i := range s.entries {
					empty = empty || s.entries[i].Hash().a == 0
				}
				require.True(t, empty, "of %d slots", len(s.entries))
			})
		}
		restore(n<<1 | 1)
	}
	require.NotZero(t, divided)
}

// A copy comes with the writers of the tags in it.
func TestCopyOfTags(t *testing.T) {
	join := newTable(t, 0)
	u, v, list := join(true), join(true), lists{join(false)}
	list.Writer.Owner = list
	list.put(1, 1<<40, v.Tag(), u.Tag())
	for c := range u.All() {
		assert.Equal(t, []*Writer{v.Writer, u.Writer}, c.Of)
	}
}

// Keys that shared an entry share it in a table with another number of segments.
func TestSetOverflowDepth(t *testing.T) {
	u, v := newTable(t, 0)(true), newTable(t, 10)(true)
	require.NotEqual(t, u.OverflowDepth(), v.OverflowDepth())
	v.SetOverflowDepth(u.OverflowDepth())
	for i := range 100 {
		assert.Equal(t, u.Overflow(u.hash(i), u.hash(-1)), v.Overflow(v.hash(i), v.hash(-1)))
	}
}

// Words that no Hash has are none.
func TestSavedHash(t *testing.T) {
	for _, words := range [][2]uint64{{2, 0}, {0, 0}, {1, 1}, {1, tagMask}} {
		_, ok := SavedHash(words[0], words[1])
		assert.False(t, ok, words)
	}
	h, ok := SavedHash(3, overflowBit)
	assert.True(t, ok)
	assert.True(t, h.IsOverflow())
}
