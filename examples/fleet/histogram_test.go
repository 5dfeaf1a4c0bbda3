package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHistogram(t *testing.T) {
	h, other := histogram{}, histogram{}
	assert.Zero(t, h.quantile(.5))
	h.add(0)
	assert.InDelta(t, 1, h.quantile(.5), 1)
	for range 98 {
		other.add(time.Millisecond)
	}
	other.add(time.Second)
	h.merge(other)
	assert.InEpsilon(t, time.Millisecond, h.quantile(.5), .07)
	assert.InEpsilon(t, time.Millisecond, h.quantile(.99), .07)
	assert.InEpsilon(t, time.Second, h.quantile(.995), .07)
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                        "0s",
		99:                       "99ns",
		1_234:                    "1.2µs",
		28_400 * time.Nanosecond: "28µs",
		1_999 * time.Millisecond: "2s",
	} {
		assert.Equal(t, want, short(d))
	}
}
