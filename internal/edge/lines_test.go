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
	l.place("k", first)
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

// When the line grows, its callers ask together, in the order in which they came.
func TestLines_TogetherAgain(t *testing.T) {
	var l lines
	asks := func(turn *turn) bool {
		if !l.ask("k", turn, func() {}) {
			return false
		}
		l.place("k", turn)
		return true
	}
	first := l.join("k")
	assert.True(t, asks(first))
	l.stop("k")
	second, third := l.join("k"), l.join("k")
	assert.True(t, asks(first))
	assert.False(t, asks(second), "the first was held back")
	l.leave("k", first)
	assert.True(t, asks(second))
	assert.False(t, asks(third), "the line is as long as it may be")
	fourth := l.join("k")
	assert.False(t, asks(fourth), "the third comes first")
	assert.True(t, l.ask("k", third, func() {}))
	assert.False(t, asks(fourth), "the third has no place at the limiter yet")
	l.place("k", third)
	assert.True(t, asks(fourth))

	mayPass, stopped := l.asked("k", third)
	assert.True(t, mayPass)
	assert.False(t, stopped)
	l.stop("k")
	mayPass, stopped = l.asked("k", fourth)
	assert.False(t, mayPass)
	assert.True(t, stopped)
	for _, turn := range []*turn{third, fourth, second} {
		l.leave("k", turn)
	}
	assert.Empty(t, l.byKey)
}
