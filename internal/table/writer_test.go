package table

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Owners with the same ID share a Writer, and a tag, until the last of them leaves.
func TestJoin(t *testing.T) {
	join := newTable(t, 0)
	u, other := join(true), join(true)
	require.NotZero(t, u.Tag())
	require.NotEqual(t, u.Tag(), other.Tag())
	same, ok := u.Join(&Writer{Owner: &user{id: u.id}, Single: true})
	require.True(t, ok)
	require.Same(t, u.Writer, same)

	u.Leave(u.Writer)
	assert.Equal(t, 2, u.Writers())
	assert.NotEqual(t, u.Tag(), join(true).Tag(), "of someone who still uses it")
	u.Leave(u.Writer)
	assert.Equal(t, 2, u.Writers())
	assert.Equal(t, u.Tag(), join(true).Tag(), "a tag that is free serves again")
}

// A Writer that everybody left stays as long as it has entries, and can be joined again.
func TestWriterOfEntries(t *testing.T) {
	join := newTable(t, 0)
	u, other := join(true), join(true)
	u.put(1, 5)
	u.Leave(u.Writer)
	require.Equal(t, 2, other.Writers())
	again, _ := other.Join(&Writer{Owner: u, Single: true})
	require.Same(t, u.Writer, again)
	other.Leave(again)

	other.time.now.Store(5 + staysFor)
	other.each(func(s *Segment) { other.sweep(s, len(s.entries)) })
	assert.Equal(t, 1, other.Writers())
}

// A state that contains tags keeps their Writers in use.
func TestTagsStayInUse(t *testing.T) {
	join := newTable(t, 0)
	u, list := join(true), lists{join(false)}
	list.Writer.Owner = list
	tags := []uint64{u.Tag(), u.Tag()}
	list.put(1, append([]uint64{1 << 40}, tags...)...)
	u.Leave(u.Writer)
	require.Equal(t, 2, list.Writers())
	assert.NotEqual(t, u.Tag(), join(true).Tag())
	list.put(1, 1<<40, u.Tag())
	require.Equal(t, 3, list.Writers())
	list.Forget(list.hash(1))
	assert.Equal(t, 2, list.Writers())
	assert.Equal(t, u.Tag(), join(true).Tag())
}

// lists have words that are tags, but for the first.
type lists struct{ *user }

func (lists) Tags(state []uint64) []uint64 { return state[1:] }

// There are a million tags.
func TestTooManyWriters(t *testing.T) {
	u := newTable(t, 0)(true)
	all := make([]*Writer, tagMask+1)
	for i := range all {
		all[i] = &Writer{}
	}
	u.writers.byTag.Store(&all)
	_, ok := u.Join(&Writer{Owner: &user{id: "one more"}})
	assert.False(t, ok)
	u.Leave(u.Writer)
	_, ok = u.Join(&Writer{Owner: &user{id: "one more"}})
	assert.True(t, ok)
}

// Tags are given again while segments with entries that have moved are replaced. The race detector
// once saw that the Writer of such an entry was looked up, although its tag was no longer its own.
func TestTagsThatAreGivenAgain(t *testing.T) {
	join := newTable(t, 0)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for i := range 5000 {
				u := join(i%2 == 0)
				u.put(i, 1<<62)
				u.Forget(u.hash(i))
				u.Leave(u.Writer)
			}
		})
	}
	both.Wait()
}
