package weir_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

var heldPolicies = []weir.Policy{
	weir.TokenBucket{Limit: 100, Per: time.Second},
	weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 50},
	weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 10},
	weir.FixedWindow{Limit: 50, Per: time.Second},
	weir.CalendarWindow{Limit: 50, Unit: weir.Minute},
	weir.SlidingWindow{Limit: 50, Per: time.Second},
	weir.SlidingWindow{Limit: 50, Per: time.Second, Buckets: 5},
	weir.All(weir.TokenBucket{Limit: 100, Per: time.Second}, weir.FixedWindow{Limit: 300, Per: 5 * time.Second}),
	weir.All(weir.TokenBucket{Limit: 50, Per: time.Second, Burst: 10},
		weir.All(weir.SlidingWindow{Limit: 40, Per: time.Second}, weir.TokenBucket{Limit: 100, Per: 3 * time.Second})),
}

// A holder has events of one grant that it has not used.
type holder struct {
	weir.Hold
	at      int64
	n       int
	charges []weir.Charge
}

// left returns what the holder may still use at an instant.
func (h *holder) left(now int64) int { return min(h.n, h.Left(time.Duration(now-h.at))) }

// holders share a key of a policy. They take events, use them as long as they may hold them, and
// give some back.
type holders struct {
	weir.Holder
	state, used []uint64 // what the holders took, and what they used
	all         []holder
	now         int64
	wrong       bool // leaves out that a bucket's events are earned again
}

// A holder that holds events for no longer than it may uses no more than the policy grants: each
// use is granted by a state that counts uses alone.
func (h *holders) step(t *testing.T, rng *rand.Rand, p weir.Policy) (over bool) {
	h.now += rng.Int64N(int64(30 * time.Millisecond))
	switch i := rng.IntN(len(h.all)); rng.IntN(3) {
	case 0:
		h.take(i, 1+rng.IntN(30))
	case 1:
		if one := &h.all[i]; one.left(h.now) > 0 {
			n := 1 + rng.IntN(one.left(h.now))
			one.n = one.left(h.now) - n
			var a weir.Answer
			h.used, a = h.Decide(h.used, h.now, weir.Ask{N: n})
			return !a.Allowed
		}
	case 2:
		if one := &h.all[i]; rng.IntN(4) == 0 && one.left(h.now) > 0 {
			n := one.left(h.now)
			one.n = 0
			if slices.ContainsFunc(one.charges, func(c weir.Charge) bool { return c.N > 0 }) {
				h.state, _ = h.Decide(h.state, h.now, weir.Ask{N: -n, GrantedAt: one.at, Charges: &one.charges})
			}
		}
	}
	if bucket, ok := p.(weir.TokenBucket); ok {
		_, look := h.Decide(slices.Clone(h.state), h.now, weir.Ask{})
		held := 0
		for _, one := range h.all {
			held += one.left(h.now)
		}
		over = look.Remaining+held > max(bucket.Burst, look.Limit)
	}
	return over
}

// take takes up to n events, in place of what holder i had.
func (h *holders) take(i, n int) {
	var charges []weir.Charge
	var a weir.Answer
	h.state, a = h.Decide(h.state, h.now, weir.Ask{N: n, Mode: weir.UpTo, Charges: &charges})
	if a.Granted == 0 {
		return
	}
	if len(charges) == 0 {
		charges = []weir.Charge{{N: a.Granted, For: a.ResetAfter}}
	}
	one := holder{h.Hold(h.now, charges), h.now, a.Granted, charges}
	if h.wrong {
		one.Most = math.MaxInt / 2
	}
	h.all[i] = one
}

func newHolders(t *testing.T, p weir.Policy) *holders {
	d, err := p.Decider()
	require.NoError(t, err)
	h, ok := d.(weir.Holder)
	require.True(t, ok)
	return &holders{
		Holder: h, all: make([]holder, 5), now: 1_789_999_200 * int64(time.Second),
		state: make([]uint64, h.Words()), used: make([]uint64, h.Words()),
	}
}

func TestHolder_NeverOver(t *testing.T) {
	for _, p := range heldPolicies {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			for seed := range uint64(runs.Long(300, 15)) {
				h, rng := newHolders(t, p), rand.New(rand.NewPCG(seed, 1))
				for step := range 1000 {
					require.False(t, h.step(t, rng, p), "seed %d, step %d", seed, step)
				}
			}
		})
	}
}

// The test above would find a rule that is wrong.
func TestHolder_EventsThatAreNotEarnedAgain(t *testing.T) {
	p := heldPolicies[0]
	for seed := range uint64(100) {
		h, rng := newHolders(t, p), rand.New(rand.NewPCG(seed, 1))
		h.wrong = true
		for range 1000 {
			if h.step(t, rng, p) {
				return
			}
		}
	}
	t.Fatal("nothing went over")
}

// A window that starts with its first event starts with those that are held.
func TestHolder_FromFirst(t *testing.T) {
	p := weir.FixedWindow{Limit: 50, Per: time.Second, FromFirst: true}
	h, rng := newHolders(t, p), rand.New(rand.NewPCG(1, 1))
	used := map[int64]int{} // by the end of the window
	for range runs.Long(300_000, 30_000) {
		h.now += rng.Int64N(int64(30 * time.Millisecond))
		i := rng.IntN(len(h.all))
		if rng.IntN(2) == 0 {
			h.take(i, 1+rng.IntN(30))
		} else if one := &h.all[i]; one.left(h.now) > 0 {
			end := one.at + int64(one.charges[0].For)
			require.Less(t, h.now, end)
			used[end] += one.n
			require.LessOrEqual(t, used[end], p.Limit)
			one.n = 0
		}
	}
	assert.Greater(t, len(used), 100)
}

func TestHold(t *testing.T) {
	for _, test := range []struct {
		policy  weir.Policy
		at      time.Duration
		charges []weir.Charge
		want    weir.Hold
		back    int
	}{
		{
			weir.TokenBucket{Limit: 100, Per: time.Second},
			0,
			[]weir.Charge{{N: 10, For: 500 * time.Millisecond}},
			weir.Hold{For: 500 * time.Millisecond, Most: 50, Over: 500 * time.Millisecond, Span: time.Second},
			0,
		},
		{
			weir.FixedWindow{Limit: 100, Per: time.Minute},
			70 * time.Second,
			[]weir.Charge{{N: 10, For: 50 * time.Second}},
			weir.Hold{For: 50 * time.Second, Span: time.Minute},
			10,
		},
		{
			weir.FixedWindow{Limit: 100, Per: time.Minute, FromFirst: true},
			70 * time.Second,
			[]weir.Charge{{N: 10, For: 20 * time.Second}},
			weir.Hold{For: 20 * time.Second, Span: time.Minute},
			10,
		},
		{
			weir.CalendarWindow{Limit: 100, Unit: weir.Day},
			3 * time.Hour,
			[]weir.Charge{{N: 10, For: 21 * time.Hour}},
			weir.Hold{For: 21 * time.Hour, Span: 24 * time.Hour},
			10,
		},
		{
			weir.SlidingWindow{Limit: 100, Per: time.Minute, Buckets: 6},
			25 * time.Second,
			[]weir.Charge{{N: 10, For: time.Minute}},
			weir.Hold{For: 5 * time.Second, Span: time.Minute},
			10,
		},
		{
			weir.SlidingWindow{Limit: 100, Per: time.Minute},
			25 * time.Second,
			[]weir.Charge{{N: 10, For: time.Minute}},
			weir.Hold{For: 35 * time.Second, Span: time.Minute},
			10,
		},
		{
			weir.All(weir.FixedWindow{Limit: 100, Per: time.Minute}, weir.TokenBucket{Limit: 100, Per: time.Second}), 70 * time.Second,
			[]weir.Charge{{N: 10, For: 50 * time.Second}, {N: 10, For: 500 * time.Millisecond}},
			weir.Hold{For: 500 * time.Millisecond, Most: 50, Over: 500 * time.Millisecond, Span: time.Second},
			10,
		},
		{ // the first earns slowly, the second has hardly been used
			weir.All(weir.TokenBucket{Limit: 1, Per: time.Second}, weir.TokenBucket{Limit: 100, Per: time.Second}), 0,
			[]weir.Charge{{N: 10, For: 10 * time.Second}, {N: 10, For: 500 * time.Millisecond}},
			weir.Hold{For: 500 * time.Millisecond, Most: 10, Over: 500 * time.Millisecond, Span: time.Second},
			0,
		},
		{weir.TokenBucket{Limit: 100, Per: time.Second}, 0, nil, weir.Hold{}, 0},
		{weir.FixedWindow{Limit: 100, Per: time.Second}, 0, nil, weir.Hold{}, 0},
		{weir.SlidingWindow{Limit: 100, Per: time.Second}, 0, nil, weir.Hold{}, 0},
		{weir.LeakyBucket{Limit: 100, Per: time.Second}, 0, []weir.Charge{{N: 1, For: 1000}}, weir.Hold{}, 1},
		{
			weir.All(weir.LeakyBucket{Limit: 100, Per: time.Second}, weir.FixedWindow{Limit: 100, Per: time.Second}), 0,
			[]weir.Charge{{N: 1, For: 1000}, {N: 1, For: 1000}},
			weir.Hold{},
			2,
		},
		{
			weir.All(weir.SlidingLog{Limit: 100, Per: time.Second}, weir.FixedWindow{Limit: 100, Per: time.Second}), 0,
			[]weir.Charge{{N: 1, For: 1000}, {N: 1, For: 1000}},
			weir.Hold{},
			2,
		},
		{
			weir.Tiers(weir.FixedWindow{Limit: 100, Per: time.Second}, weir.FixedWindow{Limit: 100, Per: time.Second}), 0,
			[]weir.Charge{{N: 1, For: 1000}, {}},
			weir.Hold{},
			1,
		},
	} {
		d, err := test.policy.Decider()
		require.NoError(t, err)
		got := d.(weir.Holder).Hold(int64(test.at), test.charges)
		assert.Equal(t, test.want, got, "%v", test.policy)
		back := 0
		for _, c := range test.charges {
			back += c.N
		}
		assert.Equal(t, test.back, back, "%v", test.policy)
	}
	d, err := weir.SlidingLog{Limit: 100, Per: time.Second}.Decider()
	require.NoError(t, err)
	_, ok := d.(weir.Holder)
	assert.False(t, ok)
}

// Within is the inverse of Left.
func TestHold_LeftAndWithin(t *testing.T) {
	huge := time.Duration(math.MaxInt64)
	holds := []weir.Hold{
		{},
		{For: 1000},
		{For: 1000, Most: 7, Over: 1000},
		{For: 500, Most: 7, Over: 1000},
		{For: 2000, Most: 7, Over: 1000},
		{For: 1000, Most: 7000, Over: 1000},
		{For: 1000, Over: 1000},
		{For: huge, Most: math.MaxInt, Over: huge},
	}
	for _, h := range holds {
		for _, n := range []int{1, 2, 3, 6, 7, 8, 6999, math.MaxInt} {
			d := h.Within(n)
			require.True(t, d >= 0 && d <= max(h.For, 0))
			if d > 0 {
				assert.GreaterOrEqual(t, h.Left(d-1), n, "%+v, %d", h, n)
			}
			if d < huge-1 {
				assert.Less(t, h.Left(d+1), n, "%+v, %d", h, n)
			}
		}
		assert.Equal(t, h.Left(0), h.Left(-5))
	}
}
