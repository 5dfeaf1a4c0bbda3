package replay

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

func TestScaled(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{
		{"100/1m", 7, "7/1m"},
		{"token-bucket 100/1m burst=20", 7, "token-bucket 7/1m burst=1"},
		{"token-bucket 100/1m burst=20", 1, "token-bucket 1/1m burst=1"},
		{"leaky-bucket 10/1s capacity=5", 100, "leaky-bucket 100/1s capacity=50"},
		{"fixed-window 10/1s from-first", 3, "fixed-window 3/1s from-first"},
		{"sliding-window 10/1s buckets=5", 3, "sliding-window 3/1s buckets=5"},
		{"calendar-window 10/month start=15", 3, "calendar-window 3/month start=15"},
		{"all(5/1s, tiers(60/1m, sliding-log 7/1h))", 10, "all(10/1s, tiers(120/1m, sliding-log 14/1h))"},
		{"all(5/1s, 60/1m)", 1, "all(1/1s, 12/1m)"},
		{"single-rate-marker 10/1s burst=20 excess=40", 5, "single-rate-marker 5/1s burst=10 excess=20"},
		{"two-rate-marker(10/1s, 20/1s burst=30)", 5, "two-rate-marker(5/1s, token-bucket 10/1s burst=15)"},
	} {
		p, err := Scaled(policies(t, tt.text)[0], tt.limit)
		require.NoError(t, err)
		assert.Equal(t, tt.want, weir.AnyPolicy{Policy: p}.String())
	}
	_, err := Scaled(nil, 1)
	assert.ErrorContains(t, err, "is of another package")
	_, err = Scaled(weir.TokenBucket{}, 1)
	assert.ErrorContains(t, err, "must be at least 1")
}

// The limits of a sweep are those that trying one after the other finds.
func TestSweepIsExact(t *testing.T) {
	logs := []Log{logOf("a", madeLog(5000, 300))}
	shares := []float64{0.001, 0.02, 0.5, 1}
	for _, p := range policies(t, "1/1h", "all(1/1m, sliding-log 10/1h)", "fixed-window 1/1h") {
		fits, err := Sweep(t.Context(), Config{}, p, shares, logs)
		require.NoError(t, err)
		require.Len(t, fits, len(shares))
		share := len(shares) - 1 // the largest first: its limit is the smallest
		for limit := 1; share >= 0; limit++ {
			scaled, err := Scaled(p, limit)
			require.NoError(t, err)
			report, err := Run(t.Context(), Config{}, []weir.Policy{scaled}, logs)
			require.NoError(t, err)
			for hit := report.Policies[0].Hit; share >= 0 && float64(hit) < shares[share]*float64(report.Clients); share-- {
				assert.Equal(t, Fit{shares[share], report.Policies[0].Policy, limit, hit}, fits[share])
			}
		}
	}
}

func TestSweepThatFindsNone(t *testing.T) {
	logs := []Log{textLog("a", lineAt(1, "x"), lineAt(1, "x"))}
	fits, err := Sweep(t.Context(), Config{}, policies(t, "leaky-bucket 1/1s")[0], []float64{0.5}, logs)
	require.NoError(t, err)
	assert.Equal(t, []Fit{{Share: 0.5}}, fits)
}

func TestSweepStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := Config{Progress: func(int) { cancel() }}
	_, err := Sweep(ctx, c, policies(t, "1/1s")[0], []float64{0.5}, []Log{logOf("a", madeLog(20_000, 10))})
	assert.ErrorIs(t, err, context.Canceled)
}
