package explain

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// A Client is that of all instants, tried one after the other, and of single events.
func TestClientOfEveryInstant(t *testing.T) {
	for _, policy := range []string{
		"token-bucket 3/9ns burst=4",
		"leaky-bucket 3/9ns",
		"fixed-window 2/9ns",
		"fixed-window 2/9ns from-first",
		"sliding-window 3/8ns",
		"sliding-window 3/8ns buckets=2",
		"sliding-log 3/8ns",
		"all(fixed-window 5/35ns, fixed-window 5/25ns)",
		"tiers(fixed-window 1/35ns, fixed-window 1/4ns)",
		"tiers(sliding-window 2/15ns, fixed-window 2/13ns)",
		"all(sliding-window 3/4ns buckets=2, sliding-window 3/25ns)",
		"single-rate-marker 2/9ns burst=3 excess=4",
		"two-rate-marker(2/40ns, 5/20ns)", // 5 together are above the first of both
		"all(two-rate-marker(2/40ns, 5/20ns), fixed-window 4/40ns)",
		"all(tiers(fixed-window 2/35ns, 3/9ns), sliding-window 4/11ns)",
		"tiers(5/10ns, leaky-bucket 5/10ns)", // which would grant 5 together
		"tiers(all(7/10ns, leaky-bucket 2/15ns), tiers(leaky-bucket 3/31ns, 2/5ns))",
	} {
		p, err := weir.ParsePolicy(policy)
		require.NoError(t, err)
		d, err := p.Decider()
		require.NoError(t, err)
		want := Client{RetryAfter: [2]time.Duration{math.MaxInt64}, ResetAfter: [2]time.Duration{math.MaxInt64}}
		for i := range int64(35 * 25) {
			granted, a := 0, weir.Answer{}
			for state := make([]uint64, d.Words()); ; granted++ {
				if state, a = d.Decide(state, calendarFrom.UnixNano()+i, weir.Ask{N: 1}); !a.Allowed {
					break
				}
			}
			want.AtOnce = max(want.AtOnce, granted)
			extend(&want.RetryAfter, a.RetryAfter)
			extend(&want.ResetAfter, a.ResetAfter)
		}
		got, err := ClientOf(p)
		require.NoError(t, err)
		assert.Equal(t, want, got, policy)
	}
}

// Windows of centuries end before time does.
func TestClientOfLongWindows(t *testing.T) {
	p, err := weir.ParsePolicy("all(fixed-window 5/15000w, fixed-window 5/9000w, sliding-window 5/7000w)")
	require.NoError(t, err)
	c, err := ClientOf(p)
	require.NoError(t, err)
	assert.Equal(t, 5, c.AtOnce)
	assert.Positive(t, c.RetryAfter[0])
}
