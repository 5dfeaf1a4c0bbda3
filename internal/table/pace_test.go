package table

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R22: of keys that came once, and are nine tenths of all, four calls for each drop nearly all,
// whoever makes them. The others stay.
func TestR22_CallsDropWhatCameOnce(t *testing.T) {
	const keys, stay = 20_000, 2222
	join := newTable(t, 0)
	for _, single := range []bool{true, false} {
		u := join(single)
		for i := range keys + stay {
			expiry := uint64(1)
			if i >= keys {
				expiry = 1 << 40
			}
			u.put(i, expiry, 0)
		}
		u.time.now.Add(staysFor)
		for range 4 * keys {
			u.SweepOften(u.hash(0), u.time.now.Add(1))
		}
		assert.Less(t, u.Len(), stay+keys/20)
		for i := range stay {
			require.NotZero(t, u.get(keys+i), "a key that has not expired")
			u.Forget(u.hash(keys + i))
		}
	}
}

// R22: the table has many segments, as for 64 processors. Of the keys that came once, each segment
// has a few that stay. It shrinks, and the sweeper goes on to the next at the same pace.
func TestR22_ManySegmentsAreSweptAsFast(t *testing.T) {
	const keys, stay = 200_000, 2000
	u := newTable(t, 0)(true)
	u.firstDepth = 9
	for i := range keys {
		expiry := uint64(1)
		if i < stay {
			expiry = 1 << 40
		}
		u.put(i, expiry, 0)
	}
	u.time.now.Add(staysFor)
	for i := range keys {
		u.SweepOften(u.hash(i%stay), u.time.now.Add(1))
	}
	assert.Less(t, u.Len(), 2*stay)
}

// R22: keys that expire, and come back within a second, are kept. Those that come back later are
// dropped.
func TestR22_KeysThatComeBackStay(t *testing.T) {
	keys := 10_000 * runtime.GOMAXPROCS(0)                      // some 1,250 for each segment
	for _, round := range []int64{staysFor / 2, 2 * staysFor} { // how long until a key comes back
		u := newTable(t, 0)(true)
		for i := range 10 * keys {
			u.put(i%keys, uint64(u.time.now.Add(round/int64(keys))))
		}
		if round < staysFor {
			assert.Equal(t, keys, u.Len())
		} else {
			assert.Less(t, u.Len(), keys*3/4)
		}
	}
}

// If there is an expired entry anywhere, SweepNext makes room. After a search in vain it searches a
// little at a time, until there was something to find.
func TestSweepNextAfterOneInVain(t *testing.T) {
	const keys = 1000
	u := newTable(t, keys)(true)
	for i := range keys - 1 {
		require.True(t, u.put(i, 1<<40))
	}
	require.True(t, u.put(keys, 1))
	require.True(t, u.Full())
	u.SweepNext()
	assert.True(t, u.Full(), "all count")
	u.time.now.Store(1)
	for range 200 { // a few slots each
		u.SweepNext()
	}
	assert.Equal(t, keys-1, u.Len())
	for i := range 3 {
		require.True(t, u.put(keys+1+i, 2+uint64(i)))
		require.True(t, u.Full())
		u.time.now.Store(2 + int64(i))
		u.SweepNext()
		assert.False(t, u.Full(), "the last search was not in vain")
	}
}

// A sweep does not wait for a segment that someone has locked.
func TestSweepDoesNotWait(t *testing.T) {
	u := newTable(t, 0)(true)
	u.put(1, 0)
	u.time.now.Store(staysFor)
	s := u.Lock(u.hash(1))
	u.SweepNext()
	s.Unlock()
	assert.Equal(t, 1, u.Len())
	u.SweepNext()
	assert.Zero(t, u.Len())
}
