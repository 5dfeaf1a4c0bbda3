package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHistogram(t *testing.T) {
	const ms = time.Millisecond
	var h histogram
	assert.Zero(t, h.largest())
	assert.Zero(t, h.at(0))
	for _, at := range []time.Duration{0, 0, tenth - 1, tenth, 350 * ms, 399 * ms} {
		h.add(at)
	}
	assert.Equal(t, histogram{3, 1, 0, 2}, h)
	assert.Equal(t, 3, h.largest())
	assert.Equal(t, 2, h.above(1))
	assert.Equal(t, 1, h.above(2))
	assert.Equal(t, 2, h.at(300*ms))
	assert.Zero(t, h.at(time.Hour))
	assert.Equal(t, []int{3, 2}, h.merged(2))
	assert.Equal(t, []int{3, 2}, h.merged(3))
	assert.Equal(t, []int{3}, h.merged(10))
}

func TestPerColumn(t *testing.T) {
	for _, c := range []struct{ n, most, want int }{
		{0, 10, 1},
		{10, 10, 1},
		{11, 10, 2},
		{20, 10, 2},
		{21, 10, 5},
		{51, 10, 10},
		{101, 10, 20},
		{864_000, 280, 5000},
	} {
		assert.Equal(t, c.want, perColumn(c.n, c.most), "%+v", c)
	}
}
