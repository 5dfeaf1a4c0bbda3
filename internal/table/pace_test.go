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
		for range 4 * keys {
			now := u.time.now.Add(1)
			u.SweepOften(u.hash(-1), now)
		}
		assert.Less(t, u.Len(), keys/20)
		assert.NotZero(t, u.get(-1), "a key that has not expired")
		u.Forget(u.hash(-1))
	}
}

// R22: keys that expire, and come back in turn, are kept.
func TestR22_KeysThatComeBackStay(t *testing.T) {
	const keys = 20_000
	u := newTable(t, 0)(true)
	for round := range 10 {
		life := int64(keys / 2) // each key has expired when it comes back
		if round == 0 {
			life = keys // or full segments drop them
		}
		for i := range keys {
			u.put(i, uint64(u.time.now.Add(1)+life))
		}
	}
	assert.Greater(t, u.Len(), keys-keys/100)
}

// A sweep does not wait for a segment that someone has locked.
func TestSweepDoesNotWait(t *testing.T) {
	u := newTable(t, 0)(true)
	u.put(1, 0)
	s := u.Lock(u.hash(1))
	u.SweepNext()
	s.Unlock()
	assert.Equal(t, 1, u.Len())
	u.SweepNext()
	assert.Zero(t, u.Len())
}
