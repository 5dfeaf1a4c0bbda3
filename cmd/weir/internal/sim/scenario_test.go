package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func arrivalsOf(t *testing.T, query string) (all []time.Duration) {
	t.Helper()
	s, err := Parse("p=1/s&" + query)
	require.NoError(t, err)
	for _, at := range s.arrivals() {
		all = append(all, time.Duration(at))
	}
	return all
}

func TestArrivals(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []time.Duration
	}{
		{"r=4&t=1s", []time.Duration{0, 250 * ms, 500 * ms, 750 * ms}},
		{"r=3&t=1s", []time.Duration{0, 333_333_334, 666_666_667}},
		{"r=0&t=1s", nil},
		{"r=0.5&t=3s", []time.Duration{0, 2000 * ms}},
		{"r=0,10,0,5&t=4s&b=0s:1", []time.Duration{
			0, 1000 * ms, 1100 * ms, 1200 * ms, 1300 * ms, 1400 * ms, 1500 * ms, 1600 * ms, 1700 * ms, 1800 * ms, 1900 * ms,
			3000 * ms, 3200 * ms, 3400 * ms, 3600 * ms, 3800 * ms,
		}},
		{"r=0&t=10s&b=8s:2,3s:1", []time.Duration{3000 * ms, 8000 * ms, 8000 * ms}},
		// What is due in an outage comes at its end, which may be in the next.
		{"r=1&t=6s&o=1s-2500ms", []time.Duration{0, 2500 * ms, 2500 * ms, 3000 * ms, 4000 * ms, 5000 * ms}},
		{"r=1&t=6s&o=3s-5s,1s-4s", []time.Duration{0, 5000 * ms, 5000 * ms, 5000 * ms, 5000 * ms, 5000 * ms}},
	} {
		assert.Equal(t, c.want, arrivalsOf(t, c.query), c.query)
	}
}

// A random flow has as many requests as an even one, and each half of the time about half of them.
func TestArrivalsAtRandom(t *testing.T) {
	got := arrivalsOf(t, "r=100&t=100s&x=poisson")
	assert.Len(t, got, 10_000)
	assert.IsNonDecreasing(t, got)
	half := 0
	alone := 0
	for i, at := range got {
		if at < 50*time.Second {
			half++
		}
		if i > 0 && at-got[i-1] > 10*ms {
			alone++
		}
	}
	assert.InDelta(t, 5000, half, 200)
	assert.InDelta(t, 10_000/2.718281828, alone, 200, "the gaps of a Poisson process are exponential")
	assert.Equal(t, got, arrivalsOf(t, "r=100&t=100s&x=poisson"), "the same each time")
}
