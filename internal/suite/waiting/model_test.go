package waiting

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// The model of callers that wait for a bucket applies the bucket's rule from the start whenever
// anything happens. Callers that gave up are left out, and nothing need ever be given back. It
// counts time in parts of a nanosecond, limit of them each, so that all instants are whole.
type lineModel struct {
	limit, burst int64 // a token bucket with that burst; a queue if it is 0
	per          time.Duration
	asks         []*queuedAsk
}

// A queuedAsk is one who came and was not refused.
type queuedAsk struct {
	*visitor
	came  time.Duration
	n     int64
	ready int64         // its instant, in parts
	gone  time.Duration // when it was granted; -1 while it waits
}

// play finds the instants of all, and lets go those whose instant is no later than now.
func (m *lineModel) play(now time.Duration) {
	m.next(0, 0)
	for _, ask := range m.asks {
		if at := m.roundUp(ask.ready); ask.gone < 0 && at <= now {
			ask.gone = at
		}
	}
}

// giveUp takes out the ask at i, which gave up now. Those who move up do so now, not earlier.
func (m *lineModel) giveUp(i int, now time.Duration) {
	m.play(now)
	m.asks = slices.Delete(m.asks, i, i+1)
	m.next(0, 0)
	for _, ask := range m.asks {
		if ask.gone < 0 && m.roundUp(ask.ready) <= now {
			ask.gone = now
		}
	}
}

// next plays all, and then tells the instant of one more that wants n at came.
func (m *lineModel) next(came time.Duration, n int64) int64 {
	paid := int64(math.MinInt64) // until when what was granted is paid for
	ready := func(came time.Duration, n int64) int64 {
		now := int64(came) * m.limit
		start := max(paid, now)
		paid = start + n*int64(m.per)
		if m.burst == 0 {
			return start
		}
		return max(now, paid-m.burst*int64(m.per))
	}
	for _, ask := range m.asks {
		ask.ready = ready(ask.came, ask.n)
	}
	return ready(came, n)
}

// roundUp is an instant in nanoseconds.
func (m *lineModel) roundUp(parts int64) time.Duration {
	return time.Duration((parts + m.limit - 1) / m.limit)
}

// Callers come at random, want any number, have deadlines, and give up. Each must hear the answer
// of the model at the model's instant, also at rates of several events a nanosecond.
func TestWait_IsTheModel(t *testing.T) {
	for _, test := range []struct {
		policy weir.Policy
		model  lineModel
	}{
		{weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 40}, lineModel{limit: 10, per: time.Second}},
		{weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: 40}, lineModel{limit: 7, per: time.Second}},
		{weir.LeakyBucket{Limit: 3, Per: 7, Capacity: 5}, lineModel{limit: 3, per: 7}},
		{weir.LeakyBucket{Limit: 9, Per: 4, Capacity: 90}, lineModel{limit: 9, per: 4}},
		{weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 6}, lineModel{limit: 10, per: time.Second, burst: 6}},
		{weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 9}, lineModel{limit: 7, per: time.Second, burst: 9}},
		{weir.TokenBucket{Limit: 9, Per: 4, Burst: 9}, lineModel{limit: 9, per: 4, burst: 9}},
		{weir.TokenBucket{Limit: 5_000_000, Per: time.Millisecond, Burst: 7}, lineModel{limit: 5, per: 1, burst: 7}},
	} {
		for seed := range uint64(10) {
			t.Run(fmt.Sprintf("%T%+v seed %d", test.policy, test.policy, seed), func(t *testing.T) {
				bubble(t, test.policy, func(c *crowd) {
					m, random := test.model, rand.New(rand.NewPCG(seed, 5))
					for i := range 150 {
						now := time.Since(c.start)
						m.play(now)
						if waiting := m.waiting(); len(waiting) > 0 && random.IntN(3) == 0 {
							i := waiting[random.IntN(len(waiting))]
							c.cancel(m.asks[i].visitor)
							m.giveUp(i, now)
						} else {
							m.come(c, random, fmt.Sprint(i))
						}
						c.until(now + m.pause(random))
					}
					m.play(1 << 62)
					c.end()
					for _, ask := range m.asks {
						require.Equal(c.t, ask.name+" "+ask.gone.String(), ask.String())
					}
				})
			})
		}
	}
}

// pause is mostly short, so that a line forms; now and then it is so long that the line empties. At
// several events a nanosecond it is mostly none.
func (m *lineModel) pause(random *rand.Rand) time.Duration {
	parts := random.Int64N(4 * int64(m.per))
	if random.IntN(25) == 0 {
		parts *= 50
	}
	return time.Duration((parts + random.Int64N(m.limit)) / m.limit)
}

// come lets a caller come, and finds out whether it should have been refused.
func (m *lineModel) come(c *crowd, random *rand.Rand, name string) {
	now, n := time.Since(c.start), 1+random.Int64N(5)
	instant := m.next(now, n)
	turn := m.roundUp(instant) - now

	ctx, want := context.Background(), error(nil)
	capacity := int64(c.look("k").Limit)
	if m.burst == 0 && instant-int64(now)*m.limit > capacity*int64(m.per) {
		want = weir.ErrQueueFull
	}
	if random.IntN(3) == 0 {
		patience := max(1, turn+time.Duration(random.IntN(5)-2))
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		context.AfterFunc(ctx, cancel)
		if want == nil && turn > patience {
			want = weir.ErrTooLate
		}
	}
	w := c.comeFor("k", name, int(n), ctx)
	if want != nil {
		require.Equal(c.t, name+" "+now.String()+" "+inShort(want), w.String())
		return
	}
	m.asks = append(m.asks, &queuedAsk{visitor: w, came: now, n: n, gone: -1})
	m.play(now)
}

// waiting are the places of those who wait.
func (m *lineModel) waiting() (places []int) {
	for i, ask := range m.asks {
		if ask.gone < 0 {
			places = append(places, i)
		}
	}
	return places
}
