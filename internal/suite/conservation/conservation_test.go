package conservation

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A ledger counts a grant after it has happened, and a return before. Its count is therefore never
// above the truth. A count above what the policy allows shows that events came from nowhere.
type ledger struct {
	t       *testing.T
	limiter *weir.KeyedLimiter
	clock   stepClock
	ahead   time.Duration // how far ahead reservations may be booked
	debts   int           // by how many times what was booked it may be settled for more
	gross   atomic.Int64  // granted
	net     atomic.Int64  // granted, less what was given back
	debt    atomic.Int64  // charged beyond what was granted
	most    func() int64  // what the policy allows until now
}

// A stepClock is moved by many.
type stepClock struct{ ns atomic.Int64 }

func (c *stepClock) Now() time.Time                     { return time.Unix(0, c.ns.Load()) }
func (*stepClock) After(time.Duration) <-chan time.Time { return nil }

func newLedger(t *testing.T, p weir.Policy) *ledger {
	l := &ledger{t: t, debts: 1}
	l.clock.ns.Store(kit.T0)
	l.limiter = weir.Must(weir.New(p, weir.WithClock(&l.clock)))
	return l
}

func (l *ledger) granted(n int) {
	l.gross.Add(int64(n))
	net := l.net.Add(int64(n))
	assert.LessOrEqual(l.t, net, l.most())
}

// A party is one of 16 who use a key at the same time.
type party struct {
	*ledger
	*rand.Rand
	held int // events that it was granted, or that it settled for, and has not returned
	open []reserved
}

type reserved struct {
	*weir.Reservation
	n int
}

// act does something at random. It never gives back what it does not hold.
func (p *party) act() {
	n := 1 + p.IntN(8)
	switch p.IntN(6) {
	case 0:
		r, err := p.limiter.Take(context.Background(), "k", n)
		require.NoError(p.t, err)
		if r.Allowed {
			p.granted(n)
			p.held += n
			p.giveBack(p.IntN(n)) // mostly at once, when all of it counts still
		}
	case 1:
		n, _, err := p.limiter.TakeUpTo(context.Background(), "k", n)
		require.NoError(p.t, err)
		p.granted(n)
		p.held += n
	case 2, 3:
		r, err := p.limiter.Reserve(kit.Deadline{Context: context.Background(), At: p.clock.Now().Add(p.ahead)}, "k", n)
		require.NoError(p.t, err)
		if r.Allowed {
			p.granted(n)
			p.open = append(p.open, reserved{r, n})
		}
	case 4:
		if len(p.open) > 0 {
			i := max(len(p.open)-1-p.IntN(p.IntN(4)+1), 0)
			p.settle(p.open[i], p.IntN((1+p.debts)*p.open[i].n+1))
			p.open = slices.Delete(p.open, i, i+1)
		}
	case 5:
		if p.IntN(10) == 0 {
			p.giveBack(p.IntN(min(p.held, 8) + 1))
		}
	}
}

func (p *party) settle(r reserved, actual int) {
	if actual < r.n {
		p.net.Add(int64(actual - r.n))
	} else {
		p.debt.Add(int64(actual - r.n))
	}
	if actual == 0 {
		require.NoError(p.t, r.Cancel(context.Background()))
	} else {
		require.NoError(p.t, r.Settle(context.Background(), actual))
	}
	p.held += actual
}

func (p *party) giveBack(n int) {
	p.net.Add(int64(-n))
	require.NoError(p.t, p.limiter.Return(context.Background(), "k", n))
	p.held -= n
}

// together lets 16 act at the same time, and do something before each act.
func (l *ledger) together(acts int, before func(*rand.Rand)) []*party {
	parties := make([]*party, 16)
	var all sync.WaitGroup
	for g := range parties {
		p := &party{ledger: l, Rand: rand.New(rand.NewPCG(uint64(g), 12))}
		parties[g] = p
		all.Go(func() {
			for range acts {
				before(p.Rand)
				p.act()
			}
		})
	}
	all.Wait()
	return parties
}

// P3, P11, P20: 16 goroutines call at the same time, at a frozen clock. Less what they give back,
// they are granted no more than the limit. Remaining is the rest of the limit, to the event. When
// all is given back, the key is like a new one. A bucket is exempt while it owes more than its
// allowance, because promised instants stand (R17).
func TestConservation_AtAFrozenClock(t *testing.T) {
	for _, policy := range append(kit.AllPolicies(100, time.Hour), weir.TokenBucket{Limit: 97, Per: time.Hour, Burst: 100}) {
		_, isQueue := policy.(weir.LeakyBucket)
		for debts := range 2 {
			t.Run(fmt.Sprintf("%#v debts %d", policy, debts), func(t *testing.T) {
				l := newLedger(t, policy)
				l.debts, l.most = debts, func() int64 { return 100 }
				fresh := kit.Take(t, l.limiter, "k", 0)
				parties := l.together(500, func(*rand.Rand) {})

				look, kept := kit.Take(t, l.limiter, "k", 0), l.net.Load()+l.debt.Load()
				if isQueue || debts > 0 && kit.IsBucket(policy) {
					assert.LessOrEqual(t, look.Remaining, int(max(100-kept, 0)))
					assert.LessOrEqual(t, time.Duration(kept)*time.Hour/100, look.ResetAfter+1)
					return
				}
				assert.Equal(t, int(max(100-kept, 0)), look.Remaining)
				for _, p := range parties {
					for _, r := range p.open {
						p.settle(r, 0)
					}
					p.giveBack(p.held)
				}
				assert.Equal(t, fresh, kit.Take(t, l.limiter, "k", 0))
			})
		}
	}
}

// P3, P11, P20: while 16 move the clock, no more is granted and kept than the policy allows in all
// that time: what is given back late buys nothing twice.
func TestConservation_WhileTimeMoves(t *testing.T) {
	const limit, per = 100, int64(time.Second)
	windows := func(from, to int64) int64 { return limit * (to/per - from/per + 1) }
	since := func(from, to int64) int64 { return limit * ((to-from)/per + 1) }
	steady := func(from, to int64) int64 { return limit + (to-from)*limit/per }
	for _, test := range []struct {
		policy weir.Policy
		allows func(from, to int64) int64
	}{
		{weir.TokenBucket{Limit: limit, Per: time.Second}, steady},
		{weir.TokenBucket{Limit: 3 * limit, Per: 3 * time.Second, Burst: limit}, steady},
		{weir.LeakyBucket{Limit: limit, Per: time.Second}, steady},
		{weir.FixedWindow{Limit: limit, Per: time.Second}, windows},
		{weir.FixedWindow{Limit: limit, Per: time.Second, FromFirst: true}, since},
		{weir.SlidingWindow{Limit: limit, Per: time.Second}, windows},
		{weir.SlidingWindow{Limit: limit, Per: time.Second, Buckets: 5}, windows},
		{weir.SlidingLog{Limit: limit, Per: time.Second}, since},
	} {
		for debts := range 2 {
			t.Run(fmt.Sprintf("%#v debts %d", test.policy, debts), func(t *testing.T) {
				l := newLedger(t, test.policy)
				l.ahead, l.debts = 20*time.Millisecond, debts
				l.most = func() int64 { return test.allows(kit.T0, l.clock.ns.Load()+int64(l.ahead)) }
				l.together(1000, func(random *rand.Rand) {
					if random.IntN(4) == 0 {
						l.clock.ns.Add(random.Int64N(int64(5 * time.Millisecond)))
					}
				})
				assert.LessOrEqual(t, l.net.Load(), l.most())
				if debts == 0 {
					assert.GreaterOrEqual(t, l.gross.Load(), l.most()/2, "it was in use, so that anything minted would show")
				}
			})
		}
	}
}

// P20: 16 book ahead and cancel. Of what stays booked, no more goes up to any instant than the
// policy allows.
func TestConservation_OfWhatIsBookedAhead(t *testing.T) {
	for _, policy := range []weir.Policy{
		weir.TokenBucket{Limit: 10, Per: time.Second},
		weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 9},
		weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 1 << 30},
	} {
		t.Run(fmt.Sprintf("%#v", policy), func(t *testing.T) {
			l := newLedger(t, policy)
			l.ahead, l.most = time.Hour, func() int64 { return 1 << 62 }
			var booked []reserved
			for _, p := range l.together(400, func(*rand.Rand) {}) {
				booked = append(booked, p.open...)
			}
			rate, burst := 10.0, 8 // of the queue: an ask goes as a whole
			if policy, is := policy.(weir.TokenBucket); is {
				rate, burst = float64(policy.Limit), max(policy.Burst, policy.Limit)
			}
			slices.SortFunc(booked, func(a, b reserved) int { return cmp.Compare(a.Delay(), b.Delay()) })
			require.NotEmpty(t, booked)
			sum := 0
			for _, r := range booked {
				sum += r.n
				require.LessOrEqual(t, float64(sum), float64(burst)+rate*r.Delay().Seconds()+1e-6)
			}
		})
	}
}
