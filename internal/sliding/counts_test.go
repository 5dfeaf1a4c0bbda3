package sliding

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A plainCounts is a Counts as a map from the numbers of sub-windows to those of their events.
type plainCounts struct {
	Counts
	counts map[uint64]uint64
	latest uint64
}

// estimate is the estimate at now, which may be an instant to come.
func (p *plainCounts) estimate(now uint64) uint64 {
	now = max(now, p.latest*p.Width)
	index, passed := now/p.Width, now%p.Width
	sum := new(big.Int)
	add := func(n uint64) { sum.Add(sum, new(big.Int).SetUint64(n)) }
	for i := range p.Buckets {
		if i <= index {
			add(p.counts[index-i])
		}
	}
	if index >= p.Buckets {
		leaving := p.counts[index-p.Buckets]
		if leaving < math.MaxUint64 {
			share := new(big.Int).SetUint64(leaving)
			share.Mul(share, new(big.Int).SetUint64(p.Width-passed))
			share.Div(share, new(big.Int).SetUint64(p.Width))
			leaving = share.Uint64()
		}
		add(leaving)
	}
	if !sum.IsUint64() {
		return math.MaxUint64
	}
	return sum.Uint64()
}

func (p *plainCounts) take(n, now uint64) {
	p.latest = max(now/p.Width, p.latest)
	sum, carry := p.counts[p.latest]+n, p.counts[p.latest] > math.MaxUint64-n
	if carry || sum >= p.Most {
		sum = math.MaxUint64
	}
	p.counts[p.latest] = sum
}

func (p *plainCounts) giveBack(n, countedAt, now uint64) {
	if p.estimate(max(now, p.latest*p.Width)/p.Width*p.Width) == 0 {
		return // nothing counts any more
	}
	for i := uint64(0); i <= min(p.Buckets, p.latest); i++ {
		sub := p.latest - i
		if c := p.counts[sub]; sub <= countedAt/p.Width && c < math.MaxUint64 {
			back := min(n, c)
			p.counts[sub], n = c-back, n-back
		}
	}
}

// until is how long after now the estimate is at most target for the first time.
func (p *plainCounts) until(target, now uint64) uint64 {
	at := now
	for ; p.estimate(at) > target; at++ {
	}
	return at - now
}

func TestCounts_AreAMapOfCounts(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		counts := Counts{Limit: 1 + r.Uint64N(12), Width: 1 + r.Uint64N(6), Buckets: 1 + r.Uint64N(4), Most: math.MaxUint64}
		if r.IntN(4) == 0 {
			counts.Most = 2*counts.Limit + r.Uint64N(10)
		}
		plain := plainCounts{Counts: counts, counts: map[uint64]uint64{}}
		state := make([]uint64, counts.Words())
		now := r.Uint64N(30)
		for range 150 {
			if now += r.Uint64N(4); r.IntN(8) == 0 {
				now -= min(now, r.Uint64N(10)) // the clock steps back
			}
			before := slices.Clone(state)
			v := counts.View(state, int64(now))
			require.Equal(t, before, state, "a look changes nothing")
			switch r.IntN(4) {
			case 0:
				n, at := 1+r.Uint64N(5), now-min(now, r.Uint64N(2*counts.Width))
				plain.giveBack(n, at, now)
				v.GiveBack(n, int64(at))
			case 1, 2:
				n := 1 + r.Uint64N(3)
				if v.Room() < n && r.IntN(3) > 0 {
					continue
				}
				require.Equal(t, max(now, plain.latest*plain.Width), v.CountedAt())
				v.Take(n)
				plain.take(n, now)
			}
			requireCounts(t, &plain, &v, now)
		}
	}
}

func requireCounts(t *testing.T, p *plainCounts, v *CountsView, now uint64) {
	t.Helper()
	estimate := p.estimate(now)
	require.Equal(t, estimate, v.Estimate())
	require.Equal(t, p.Limit-min(estimate, p.Limit), v.Room())
	for target := range min(estimate, p.Limit) + 1 {
		require.EqualValues(t, p.until(target, now), v.Until(target), "until %d of %d", target, estimate)
	}
	require.True(t, p.Sound(v.state))
	start := v.state[0] * p.Width
	require.Equal(t, p.latest, v.state[0])
	require.EqualValues(t, start+p.until(0, start), p.Expiry(v.state))
	require.EqualValues(t, start+(p.Buckets+1)*p.Width, p.Gone(v.state))
}

// The largest limit over the longest windows, at the last instants, does not wrap around.
func TestCounts_LargestNumbers(t *testing.T) {
	for _, c := range []Counts{
		{Limit: math.MaxInt64, Width: math.MaxInt64, Buckets: 1, Most: math.MaxUint64},
		{Limit: math.MaxInt64, Width: math.MaxInt64 / 7, Buckets: 7, Most: math.MaxUint64},
		{Limit: math.MaxInt64, Width: 1, Buckets: 5, Most: math.MaxUint64},
	} {
		for _, now := range []int64{0, 1, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64} {
			state := make([]uint64, c.Words())
			v := c.View(state, now)
			v.Take(0)
			require.Zero(t, v.Estimate())
			v.Take(c.Limit)
			require.Zero(t, v.Room())
			require.Positive(t, v.Until(c.Limit-1))
			require.GreaterOrEqual(t, c.Expiry(state), now)
			require.GreaterOrEqual(t, c.Gone(state), c.Expiry(state))
			v.Take(math.MaxUint64)
			require.EqualValues(t, uint64(math.MaxUint64), v.Estimate())
			v.GiveBack(math.MaxUint64, now)
			require.EqualValues(t, uint64(math.MaxUint64), v.Estimate(), "nothing lowers a debt without a number")
			require.Positive(t, v.Until(0))
		}
	}
}

// Sound finds words that no counting leaves.
func TestCounts_Sound(t *testing.T) {
	c := Counts{Limit: 5, Width: 10, Buckets: 3, Most: math.MaxUint64}
	for _, state := range [][]uint64{{0, 0, 0, 0, 0}, {1, 4, 3, 0, 0}, {math.MaxInt64 / 10, 1, 2, 3, math.MaxUint64}} {
		require.True(t, c.Sound(state), "%v", state)
	}
	for _, state := range [][]uint64{
		nil,
		{0, 0, 0, 0},
		{0, 0, 0, 0, 0, 0},
		{math.MaxInt64/10 + 1, 0, 0, 0, 0}, // starts after the last instant
		{1, 4, 3, 0, 1},                    // has events of sub-window 3
	} {
		require.False(t, c.Sound(state), "%v", state)
		require.Zero(t, c.Expiry(state))
	}
}
