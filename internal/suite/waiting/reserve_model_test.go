package waiting

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Callers come to wait, and others reserve, at random; they give up, cancel and settle for less.
// Each waiting caller must be granted at the instant of the model: as if the others had asked only
// for what they needed in the first place. They use two limiters of one name. There are two
// exceptions (R17), in which the events that are not needed stay booked. Behind them is a
// reservation, or a caller that waits at the other limiter. Or a reservation of a TokenBucket is
// settled for less.
func TestReserve_ThoseWhoWaitAreTheModel(t *testing.T) {
	for _, test := range []struct {
		policy weir.Policy
		model  lineModel
	}{
		{weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 90}, lineModel{limit: 10, per: time.Second}},
		{weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: 90}, lineModel{limit: 7, per: time.Second}},
		{weir.LeakyBucket{Limit: 9, Per: 4, Capacity: 90}, lineModel{limit: 9, per: 4}},
		{weir.LeakyBucket{Limit: 50, Per: 1, Capacity: 900}, lineModel{limit: 50, per: 1}},
		{weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 6}, lineModel{limit: 10, per: time.Second, burst: 6}},
		{weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 9}, lineModel{limit: 7, per: time.Second, burst: 9}},
		{weir.TokenBucket{Limit: 7, Per: 3, Burst: 5}, lineModel{limit: 7, per: 3, burst: 5}},
		{weir.TokenBucket{Limit: 50, Per: 1, Burst: 60}, lineModel{limit: 50, per: 1, burst: 60}},
	} {
		for seed := range uint64(runs.Long(200, 10)) {
			t.Run(fmt.Sprintf("%T%+v seed %d", test.policy, test.policy, seed), func(t *testing.T) {
				store := new(weir.MemStore)
				bubble(t, test.policy, func(c *crowd) {
					m := mixedLine{
						test.model, rand.New(rand.NewPCG(seed, 11)),
						[]*weir.KeyedLimiter{c.l, weir.Must(weir.New(test.policy, weir.WithStore(store)))},
						map[*queuedAsk]*weir.KeyedLimiter{},
						map[*queuedAsk]*weir.Reservation{},
						map[*queuedAsk]bool{},
					}
					m.play150(c)
					m.lineModel.play(1 << 62)
					c.end()
					for _, ask := range m.asks {
						if m.made[ask] == nil && !m.left[ask] {
							require.NoError(c.t, ask.err)
							require.Equal(c.t, ask.gone, ask.at, ask.name)
						}
					}
				}, weir.WithStore(store))
			})
		}
	}
}

// A mixedLine is a line in which some have a reservation, and do not wait.
type mixedLine struct {
	lineModel
	*rand.Rand
	limiters []*weir.KeyedLimiter
	at       map[*queuedAsk]*weir.KeyedLimiter
	made     map[*queuedAsk]*weir.Reservation
	left     map[*queuedAsk]bool // those whose places stay booked
}

var settled = new(weir.Reservation) // in made, one that has been

// play150 plays as many moves.
func (m *mixedLine) play150(c *crowd) {
	for i := range 150 {
		now := time.Since(c.start)
		m.play(now)
		waiting, asked := m.waiting(), len(m.asks)
		if m.IntN(8) == 0 {
			c.l = m.limiters[m.IntN(2)]
		}
		switch {
		case len(waiting) > 0 && m.IntN(3) == 0:
			m.shrink(c, waiting[m.IntN(len(waiting))], now)
		case m.IntN(3) == 0:
			m.reserve(c, 1+m.IntN(5), now)
		default:
			m.come(c, m.Rand, fmt.Sprint(i))
		}
		if len(m.asks) > asked {
			m.at[m.asks[asked]] = c.l
		}
		c.until(now + m.pause(m.Rand))
	}
}

func (m *mixedLine) reserve(c *crowd, n int, now time.Duration) {
	r, err := c.l.Reserve(background, "k", n)
	require.NoError(c.t, err)
	instant := m.next(now, int64(n))
	if !r.Allowed {
		require.Zero(c.t, m.burst, "only a queue is ever full")
		return
	}
	require.GreaterOrEqual(c.t, r.Delay(), m.roundUp(instant)-now)
	ask := &queuedAsk{came: now, n: int64(n), gone: -1}
	m.asks, m.made[ask] = append(m.asks, ask), r
	m.play(now)
}

// shrink lets the ask at i give up, or if it is a reservation, be cancelled or settled for less.
func (m *mixedLine) shrink(c *crowd, i int, now time.Duration) {
	ask := m.asks[i]
	r := m.made[ask]
	if r == settled || m.left[ask] {
		return
	}
	promised := slices.ContainsFunc(m.asks[i+1:], func(behind *queuedAsk) bool {
		return m.made[behind] != nil || m.at[behind] != m.at[ask]
	})
	if r != nil && slices.ContainsFunc(m.asks[i+1:], func(behind *queuedAsk) bool { return m.left[behind] }) {
		return // a place that nobody has any more may move up, or not
	}
	actual := int64(0)
	switch {
	case r == nil:
		c.cancel(ask.visitor)
	case ask.n == 1 || m.IntN(2) == 0:
		require.NoError(c.t, r.Cancel(background))
	default:
		actual = 1 + m.Int64N(ask.n-1)
		require.NoError(c.t, r.Settle(background, int(actual)))
	}
	if r != nil {
		m.made[ask] = settled
	}
	switch {
	case promised, actual > 0 && m.burst > 0: // of tokens, its own instant was told
		m.left[ask] = true
	case actual == 0:
		m.giveUp(i, now)
	default:
		ask.n = actual
		m.next(0, 0)
		for _, ask := range m.asks {
			if ask.gone < 0 && m.roundUp(ask.ready) <= now {
				ask.gone = now
			}
		}
	}
}
