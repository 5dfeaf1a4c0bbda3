package table

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A state that one Writer left is replaced by one of another Writer, and back, both among the words
// and in the slab.
func TestChange(t *testing.T) {
	join := newTable(t, 0)
	single, slab := join(true), join(false)
	for range 100 {
		require.True(t, single.put(1, 7))
		require.Equal(t, Content{single.Writer, []uint64{7}}, slab.get(1))
		assert.NotNil(t, single.Find(single.hash(1)))
		assert.Nil(t, slab.Find(slab.hash(1)), "found by another Writer without the lock")

		require.True(t, slab.put(1, 8, 9))
		require.Equal(t, Content{slab.Writer, []uint64{8, 9}}, single.get(1))
		assert.Nil(t, single.Find(single.hash(1)))
		require.True(t, slab.put(1, 8, 9, 10), "by itself")
		require.Equal(t, Content{slab.Writer, []uint64{8, 9, 10}}, single.get(1))
		require.Equal(t, 1, single.Len())
	}
	change(slab, 1, func(Content) (Content, bool) { return Content{}, true })
	assert.Zero(t, slab.get(1))
	assert.Zero(t, slab.Len())
}

// A function that panics, here or in a sweep, leaves an entry as it was, held by nobody.
func TestPanics(t *testing.T) {
	join := newTable(t, 0)
	for _, single := range []bool{true, false} {
		u := join(single)
		want := Content{u.Writer, []uint64{7, 8}}
		if single {
			want.Words = want.Words[:1]
		}
		u.put(1, want.Words...)
		assert.PanicsWithValue(t, "f", func() {
			change(u, 1, func(Content) (Content, bool) { panic("f") })
		})
		assert.Equal(t, want, u.get(1))

		u.Expirer = panicking{}
		s := u.Lock(u.hash(1))
		assert.PanicsWithValue(t, "Expiry", func() { u.SweepWhenFull(s) })
		s.Unlock()
		u.Expirer = u
		assert.Equal(t, want, u.get(1))
		u.Forget(u.hash(1))
	}
}

// If a function panics while the second of two segments is replaced, the first is not left locked.
func TestPanicOfTheSecondOfTwo(t *testing.T) {
	u := newTable(t, 0)(true)
	first, last := Hash{a: 1}, Hash{a: math.MaxUint64}
	segment := func(h Hash) *Segment { return u.dir.Load().at(h.a).Load() }
	for i := 0; segment(first) == segment(last) || !segment(last).full(); i++ {
		require.True(t, u.put(i, 1<<40))
	}
	u.Expirer = panicking{}
	assert.PanicsWithValue(t, "Expiry", func() { u.LockBoth(last, first) })
	for _, h := range []Hash{first, last} {
		require.True(t, segment(h).mu.TryLock())
		segment(h).Unlock()
	}
}

type panicking struct{}

func (panicking) Expiry([]uint64) int64 { panic("Expiry") }

// change is Change of the entry of a key.
func change(u *user, key int, f func(Content) (Content, bool)) {
	s := u.Lock(u.hash(key))
	defer s.Unlock()
	u.Change(s, s.Lookup(u.hash(key)), f)
}
