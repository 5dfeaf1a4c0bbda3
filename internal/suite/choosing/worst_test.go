package choosing

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// A caller asks one limiter at instants of its choice, counted from a whole second.
type caller struct {
	limiter weir.Limiter
	now     time.Time
	granted []time.Duration // one per event, in order
}

func newCaller(p weir.Policy) *caller {
	c := &caller{}
	c.limiter = weir.Must(weir.New(p, weir.WithClock(c)))
	return c
}

func (c *caller) Now() time.Time                       { return c.now }
func (c *caller) After(time.Duration) <-chan time.Time { panic("nobody waits here") }

func (c *caller) take(t testing.TB, at time.Duration, n int) weir.Result {
	c.now = time.Unix(1_000_000_000, 0).Add(at)
	r, err := c.limiter.Take(t.Context(), "k", n)
	require.NoError(t, err)
	if r.Allowed {
		c.granted = append(c.granted, slices.Repeat([]time.Duration{at}, n)...)
	}
	return r
}

// takeAll takes every event there is in [from, to), at the instant at which it is granted.
func (c *caller) takeAll(t testing.TB, from, to time.Duration) {
	for at := from; at < to; {
		at += c.take(t, at, 1).RetryAfter
	}
}

// flood takes every event there is at the instant.
func (c *caller) flood(t testing.TB, at time.Duration) { c.takeAll(t, at, at+1) }

// busiest is the most events granted in any span of that length, its end not included.
func busiest(granted []time.Duration, span time.Duration) int {
	most, first := 0, 0
	for i, at := range granted {
		for granted[first] <= at-span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// The spans of the table "How much over the limit".
var spans = []time.Duration{10 * time.Millisecond, 900 * time.Millisecond, time.Second}

// attack is the worst that a caller can do: it saves up, uses all of it right before or at a
// boundary, and then takes every event that it can get. One event long before may open a window, so
// that it ends where the caller wants it to. It returns the most events in each of spans.
func attack(t testing.TB, p weir.Policy) []int {
	worst := make([]int, len(spans))
	for _, opener := range []int{0, 1} {
		for _, at := range []time.Duration{
			0, 1, 100*time.Millisecond - 1, 100 * time.Millisecond, 500 * time.Millisecond,
			time.Second - 10*time.Millisecond, time.Second - 1,
		} {
			c := newCaller(p)
			c.take(t, 0, opener)
			c.takeAll(t, at, at+2500*time.Millisecond)
			for i, span := range spans {
				worst[i] = max(worst[i], busiest(c.granted, span))
			}
		}
	}
	return worst
}

// No random caller is granted more than the attack is, though many of them ask around the
// boundaries.
func TestChoosingWorstCaseIsTheWorst(t *testing.T) {
	for _, p := range choices {
		worst := attack(t, p)
		rnd := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			c := newCaller(p)
			at := time.Duration(rnd.Int64N(int64(time.Second)))
			for at < 4*time.Second {
				if rnd.IntN(3) == 0 {
					c.flood(t, at)
				} else {
					c.take(t, at, 1)
				}
				switch rnd.IntN(4) {
				case 0:
					at += time.Duration(rnd.Int64N(int64(time.Second)))
				case 1:
					at += time.Duration(rnd.Int64N(int64(10 * time.Millisecond)))
				case 2:
					at = at.Truncate(100*time.Millisecond) + 100*time.Millisecond - time.Duration(rnd.IntN(2))
				case 3:
					at += time.Duration(rnd.IntN(3))
				}
			}
			for i, span := range spans {
				require.LessOrEqual(t, busiest(c.granted, span), worst[i], "%+v in %v", p, span)
			}
		}
	}
}

// A bucket keeps to another's 100 a second if its rate and its burst together are that, and one
// more.
func TestChoosingBurstPlusLimit(t *testing.T) {
	for _, burst := range []int{1, 10, 50, 90} {
		p := weir.TokenBucket{Limit: 100 - burst, Per: time.Second, Burst: burst}
		assert.Equal(t, 99, attack(t, p)[2], "%+v", p)
	}
}
