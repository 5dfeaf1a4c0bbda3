package edge

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// R22: each call that comes in a hold stops the line. That takes no longer if many are in it.
// Otherwise the calls of all keys would wait, for a time that grows with the square of their number.
func TestR22_LongLine(t *testing.T) {
	var l lines
	stopped := 0
	cancel := func() { stopped++ }
	first, second := l.join("k"), l.join("k")
	assert.True(t, l.ask("k", first, cancel))
	assert.True(t, l.ask("k", second, cancel))
	l.stop("k") // the hold begins
	assert.Equal(t, 2, stopped)

	turns := []*turn{second}
	for range 300_000 {
		turns = append(turns, l.join("k"))
		l.stop("k")
	}
	assert.False(t, l.ask("k", second, cancel))
	assert.True(t, l.ask("k", first, cancel))
	l.stop("k") // another one begins
	assert.Equal(t, 3, stopped)

	l.leave("k", first)
	assert.True(t, l.ask("k", second, cancel))
	for _, turn := range turns {
		l.leave("k", turn)
	}
	assert.Empty(t, l.byKey)
}
