package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLoads(t *testing.T) {
	all := []bool{true, true, true, true, true, true, true, true}
	some := []bool{false, true, false, true, true, true, true, true}
	assert.Equal(t, []float64{10, 10, 10, 10, 10, 10, 10, 10}, loads(0, 80, all))
	assert.Equal(t, []float64{80, 0, 0, 0, 0, 0, 0, 0}, loads(4, 80, all))
	assert.Equal(t, []float64{0, 80, 0, 0, 0, 0, 0, 0}, loads(4.5, 80, all))
	assert.Equal(t, []float64{0, 0, 0, 0, 0, 0, 0, 80}, loads(7.99, 80, all))
	assert.Equal(t, []float64{0, 80, 0, 0, 0, 0, 0, 0}, loads(4, 80, some))
	assert.Equal(t, []float64{0, 15, 0, 15, 15, 15, 15, 15}, loads(8, 90, some))
	assert.Equal(t, []float64{0, 0}, loads(8, 90, []bool{false, false}))
}
