package table

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An entry that someone holds is not swept, and nobody else gets it.
func TestHeldEntry(t *testing.T) {
	u := newTable(t, 0)(false)
	u.put(1, 0, 0)
	u.time.now.Store(staysFor) // it has expired
	e := u.Find(u.hash(1))
	at, ok := e.TryHold()
	require.True(t, ok)
	_, ok = e.TryHold()
	require.False(t, ok, "held twice")

	sweepAll := func() { u.each(func(s *Segment) { u.sweep(s, len(s.entries)) }) }
	sweepAll()
	require.Equal(t, 1, u.Len(), "swept")
	e.Release(at)
	sweepAll()
	assert.Zero(t, u.Len())
	_, ok = e.TryHold()
	assert.False(t, ok, "held after it was dropped")
	assert.Equal(t, uint64(Moved), e.Hold())
}

// A state that grows under the lock of its entry is found where it is then.
func TestHeldStateMoves(t *testing.T) {
	u := newTable(t, 0)(false)
	want := []uint64{1 << 40, 1}
	u.put(1, want...)
	for i := range uint64(1000) {
		e := u.Find(u.hash(1))
		at, ok := e.TryHold()
		require.True(t, ok)
		at, block := u.WithRoom(e.Hash(), at, 2)
		require.Equal(t, want, block)
		want = append(want, i)
		e.Release(u.Update(e.Hash(), at, block, append(block, i)))
		u.put(int(i)+2, 1<<40, i) // lies in between
	}
	assert.Equal(t, Content{u.Writer, want}, u.get(1))
}

// A key that was forgotten and comes again finds its slot.
func TestFormerSlotServesAgain(t *testing.T) {
	join := newTable(t, 0)
	for _, single := range []bool{true, false} {
		u := join(single)
		u.put(1, 1<<40)
		e := u.Find(u.hash(1))
		for range 1000 {
			u.Forget(u.hash(1))
			require.Zero(t, u.Len())
			u.put(1, 1<<40)
			require.Same(t, e, u.Find(u.hash(1)), "or the segment would have filled up")
		}
		u.Forget(u.hash(1))
	}
}

// Many count in few entries, with and without a lock, while others come and go, so that segments
// are replaced: no count is lost.
func TestCountsUnderChange(t *testing.T) {
	const counters, goroutines, each = 5, 8, 5000
	join := newTable(t, 0)
	single, slab := join(true), join(false)
	for i := range counters {
		single.put(i, 1<<40)
		slab.put(counters+i, 1<<40, 0, 0)
	}
	var news atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range each {
				for !single.count(i % counters) {
				}
				for !slab.countHeld(counters + i%counters) {
				}
				single.put(int(news.Add(1))<<10, uint64(single.time.now.Add(1)))
			}
		})
	}
	wg.Wait()
	for i := range counters {
		assert.Equal(t, uint64(1<<40+goroutines*each/counters), single.get(i).Words[0])
		assert.EqualValues(t, goroutines*each/counters, slab.get(counters + i).Words[1])
	}
}

// count adds to a single word, as limiters do.
func (u *user) count(key int) bool {
	e := u.Find(u.hash(key))
	if e == nil {
		return false
	}
	for old := e.Load(); old != Moved; old = e.Load() {
		if e.CompareAndSwap(old, old+1) {
			return true
		}
	}
	return false
}

// countHeld adds to the second word of a state in the slab.
func (u *user) countHeld(key int) bool {
	e := u.Find(u.hash(key))
	if e == nil {
		return false
	}
	at, ok := e.TryHold()
	if !ok {
		return false
	}
	at, block := u.WithRoom(e.Hash(), at, 3)
	block[1]++
	e.Release(u.Update(e.Hash(), at, block, block))
	return true
}
