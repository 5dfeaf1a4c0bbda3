package replay

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
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
		{"two-rate-marker(3/10s, 1/3s)", 4, "two-rate-marker(4/10s, 2/3s)"}, // 1/3s would be slower than 4/10s
		{"two-rate-marker(1/1ns, 9223372036854775807/1h)", 2, "two-rate-marker(2/1ns, 9223372036854775807/1h)"},
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
	logs := []Log{logOf("a", madeLog(runs.Long(5000, 2500), 300))}
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

// A hundred clients: client i makes i requests in an instant. 7 of them are not fewer than 7%,
// though 0.07*100 is more than 7 in floating point.
func TestSweepIsExactAtTheShare(t *testing.T) {
	var lines []string
	for client := range 100 {
		for range client {
			lines = append(lines, lineAt(1, fmt.Sprint("client", client)))
		}
		lines = append(lines, lineAt(1e9, fmt.Sprint("client", client)))
	}
	fits, err := Sweep(t.Context(), Config{}, policies(t, "1/1h")[0], []float64{0.07}, []Log{textLog("a", lines...)})
	require.NoError(t, err)
	assert.Equal(t, []Fit{{0.07, "93/1h", 93, 6}}, fits)
}

// Limits of bytes are large. Two requests of one instant, 1.2 GB together, fit in one of 1.2 GB.
func TestSweepOfBytes(t *testing.T) {
	const megabyte = 1_000_000
	log := textLog("a", fmt.Sprintf(`{"time":1,"ip":"x","bytes":%d}`+"\n", 400*megabyte), fmt.Sprintf(`{"time":1,"ip":"x","bytes":%d}`+"\n", 800*megabyte))
	for _, p := range policies(t, "1/1h", "fixed-window 1/1h", "sliding-window 1/1h buckets=6", "sliding-log 1/1h", "calendar-window 1/day",
		"all(1/1m, 60/1h)", "tiers(1/1m, 60/1h)", "single-rate-marker 1/1s burst=20 excess=40", "two-rate-marker(1/1s, 20/1s burst=30)", "two-rate-marker(1/1s, 600/1m burst=30)") {
		fits, err := Sweep(t.Context(), Config{Cost: "bytes"}, p, []float64{0.5}, []Log{log})
		require.NoError(t, err)
		assert.Positive(t, fits[0].Limit, p)
		assert.Zero(t, fits[0].Hit)
	}
	fits, err := Sweep(t.Context(), Config{Cost: "bytes"}, policies(t, "fixed-window 1/1h")[0], []float64{0.5}, []Log{log})
	require.NoError(t, err)
	assert.Equal(t, 1200*megabyte, fits[0].Limit)
}

// With a larger first tier, a request may take what a later one needs. What Sweep finds is then a
// limit that hits fewer than the share, and perhaps not the smallest.
func TestSweepOfTiersWithCosts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	p := policies(t, "tiers(fixed-window 2/10s from-first, fixed-window 1/2s from-first)")[0]
	for range runs.Long(50, 15) {
		var lines []string
		for at := range 60 {
			lines = append(lines, fmt.Sprintf(`{"time":%d,"ip":"%d","cost":%d}`+"\n", at, rnd.IntN(4), rnd.IntN(4)))
		}
		c, logs := Config{Cost: "cost"}, []Log{textLog("a", lines...)}
		fits, err := Sweep(t.Context(), c, p, []float64{0.3}, logs)
		require.NoError(t, err)
		report, err := Run(t.Context(), c, policies(t, fits[0].Policy), logs)
		require.NoError(t, err)
		assert.LessOrEqual(t, report.Policies[0].Hit, 1)
	}
}

// Also without costs: at 8 a minute, the leaky bucket takes the second request, and then lacks room
// for one of the last two.
func TestSweepOfTiers(t *testing.T) {
	log := textLog("a", lineAt(1000, "x"), lineAt(1008, "x"), lineAt(1010, "x"), lineAt(1012, "x"))
	p := policies(t, "tiers(leaky-bucket 6/1m, fixed-window 1/10s)")[0]
	for limit, hit := range map[int]int{4: 1, 5: 0, 6: 0, 7: 0, 8: 1, 9: 0} {
		scaled, err := Scaled(p, limit)
		require.NoError(t, err)
		report, err := Run(t.Context(), Config{}, []weir.Policy{scaled}, []Log{log})
		require.NoError(t, err)
		assert.Equal(t, hit, report.Policies[0].Hit, limit)
	}
	fits, err := Sweep(t.Context(), Config{}, p, []float64{0.5}, []Log{log})
	require.NoError(t, err)
	assert.Equal(t, 9, fits[0].Limit)
}

// With costs, a marker is like tiers: at 17 each 10 seconds, a request of 3 finds its green events
// used by one that was yellow at 16.
func TestSweepOfAMarker(t *testing.T) {
	var lines []string
	for _, e := range [][2]int64{
		{418731563, 2},
		{2698704393, 2},
		{3668862180, 2},
		{3922087902, 2},
		{5179137124, 1},
		{6059084688, 3},
		{9686632002, 2},
		{11048492507, 2},
		{15016357978, 1},
		{16054718022, 3},
		{16519391243, 1},
		{19705658411, 2},
		{20472669528, 1},
		{23837605294, 3},
		{25561134797, 1},
	} {
		lines = append(lines, fmt.Sprintf(`{"time":1%018d,"ip":"x","cost":%d}`+"\n", e[0], e[1]))
	}
	for limit, hit := range map[int]int{16: 0, 17: 1} {
		policy := fmt.Sprintf("single-rate-marker %d/10s burst=4 excess=2", limit)
		assert.Equal(t, hit, runOne(t, Config{Cost: "cost"}, policy, textLog("a", lines...)).Policies[0].Hit, limit)
	}
}

// Many shares make many gaps between limits. A pass does not try them all.
func TestSweepOfManyShares(t *testing.T) {
	s := &sweep{hits: map[int]int{}, clients: 1000}
	var shares []float64
	for i := range 1000 {
		s.hits[4*i] = 1000 - i
		shares = append(shares, float64(i)/1000)
	}
	limits := s.between(shares)
	assert.Len(t, limits, 255)
	assert.True(t, slices.IsSorted(limits))
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

// What is read for the first time only, such as a pipe, has no limits to be found.
func TestSweepOfWhatIsReadOnce(t *testing.T) {
	for _, lines := range [][2]string{{"", ""}, {lineAt(1, "x") + lineAt(2, "x"), ""}, {lineAt(1, "x") + lineAt(2, "x"), lineAt(1, "x")}} {
		opened := 0
		log := Log{"a", func() (io.ReadCloser, error) {
			opened++
			return io.NopCloser(strings.NewReader(lines[min(opened-1, 1)])), nil
		}}
		_, err := Sweep(t.Context(), Config{}, policies(t, "1/1h")[0], []float64{0.5}, []Log{log})
		assert.ErrorContains(t, err, "when they were read again")
	}
}
