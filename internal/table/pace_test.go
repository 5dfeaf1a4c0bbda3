package table

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// R22: of keys that came once, four calls for each drop nearly all, whoever makes them.
func TestR22_CallsDropWhatCameOnce(t *testing.T) {
	const keys = 20_000
	join := newTable(t, 0)
	for _, single := range []bool{true, false} {
		u := join(single)
		for i := range keys {
			u.put(i, 1, 0)
		}
		u.put(-1, 1<<40, 0)
		u.time.now.Add(staysFor)
		for range 4 * keys {
			now := u.time.now.Add(1)
			u.SweepOften(u.hash(-1), now)
		}
		assert.Less(t, u.Len(), keys/20)
		assert.NotZero(t, u.get(-1), "a key that has not expired")
		u.Forget(u.hash(-1))
	}
}

// R22: keys that expire, and come back within a second, are kept. Those that come back later are
// dropped.
func TestR22_KeysThatComeBackStay(t *testing.T) {
	const keys = 20_000
	for _, round := range []int64{staysFor / 2, 2 * staysFor} { // how long until a key comes back
		u := newTable(t, 0)(true)
		for i := range 10 * keys {
			u.put(i%keys, uint64(u.time.now.Add(round/keys)))
		}
		if round < staysFor {
			assert.Equal(t, keys, u.Len())
		} else {
			assert.Less(t, u.Len(), keys*3/4)
		}
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
