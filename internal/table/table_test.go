package table

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R22: a table starts with one small segment. It has one for each few of the processors' goroutines
// once it has many keys, or many come and go.
func TestR22_TableGrowsWithTheKeys(t *testing.T) {
	for name, life := range map[string]int{"keys stay": math.MaxInt, "keys come and go": 0} {
		t.Run(name, func(t *testing.T) {
			u := newTable(t, 0)(true)
			u.put(-1, uint64(life))
			require.Len(t, u.dir.Load().segments, 1)
			require.Len(t, u.dir.Load().segments[0].Load().entries, minSlots)
			for i := range 1000 << u.firstDepth {
				u.time.now.Add(1)
				u.put(i, uint64(life))
			}
			segments := 0
			u.each(func(s *Segment) {
				segments++
				assert.GreaterOrEqual(t, s.depth, u.firstDepth)
			})
			assert.GreaterOrEqual(t, segments, 1<<u.firstDepth)
		})
	}
}

// At MaxKeys there is no room for a key, but for entries that stand for all keys without one.
// Expired keys give way.
func TestMaxKeys(t *testing.T) {
	u := newTable(t, 2)(true)
	require.True(t, u.put(1, 10))
	require.True(t, u.put(2, 20))
	require.True(t, u.Full())
	require.False(t, u.put(3, 30))
	assert.True(t, u.put(2, 21), "a known key")

	shared := u.Overflow(u.hash(3), u.hash(-1))
	s := u.Lock(shared)
	require.True(t, u.Add(s, shared, Content{u.Writer, []uint64{30}}))
	s.Unlock()
	assert.True(t, u.Overflows())
	assert.Equal(t, 2, u.Len())

	u.time.now.Store(10)
	require.True(t, u.put(3, 30), "in the place of 1")
	assert.Zero(t, u.get(1))
	u.Forget(shared)
	assert.False(t, u.Overflows())
	assert.Equal(t, 2, u.Len())
}

// Many lock two segments at a time, in any order, while segments divide: nobody waits for ever, and
// each has the segments that it asked for.
func TestLockBoth(t *testing.T) {
	u := newTable(t, 0)(true)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(g)))
			for range 5000 {
				a, b := u.hash(random.IntN(4000)), u.hash(random.IntN(4000))
				ofA, ofB := u.LockBoth(a, b)
				assert.Equal(t, ofA == ofB, u.dir.Load().at(a.a).Load() == u.dir.Load().at(b.a).Load())
				for s, h := range map[*Segment]Hash{ofA: a, ofB: b} {
					if s.Lookup(h) == nil {
						u.Add(s, h, Content{u.Writer, []uint64{math.MaxInt64}})
					}
				}
				UnlockBoth(ofA, ofB)
			}
		})
	}
	wg.Wait()
	assert.Greater(t, len(u.dir.Load().segments), 1)
}

// A table that is full is swept by calls that find no room, segment by segment.
func TestSweepNextMakesRoom(t *testing.T) {
	const keys = 5000
	u := newTable(t, keys)(true)
	for i := range keys {
		require.True(t, u.put(i, uint64(1)))
	}
	u.time.now.Store(staysFor + 1)
	for calls := 0; u.Len() > 0; calls++ {
		require.Less(t, calls, keys)
		u.SweepNext()
	}
}

// Keys without an entry share one if their hashes begin alike. Each is in the segment of those
// keys.
func TestOverflow(t *testing.T) {
	u := newTable(t, 0)(true)
	shared := map[Hash]bool{}
	for i := range 10_000 {
		h := u.hash(i)
		o := u.Overflow(h, u.hash(-1))
		require.True(t, o.IsOverflow())
		require.False(t, h.IsOverflow())
		require.Equal(t, h.a>>(64-u.firstDepth), o.a>>(64-u.firstDepth))
		shared[o] = true
	}
	assert.Len(t, shared, 1<<u.firstDepth)
}
