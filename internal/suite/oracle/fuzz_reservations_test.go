package oracle

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// FuzzReservations lets one caller take, reserve, settle, cancel, return and reset, in any order
// and at any instants. Each answer must be that of the policy's model. The model knows no
// reservations, only the events that are charged and given back in the end.
func FuzzReservations(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("reserve, settle for less, and then for more; come back later"))
	for seed := range runs.Long[byte](90, 18) {
		bytes := make([]byte, 600)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(bytes)
		bytes[2] = seed // each policy in its turn
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		x := newOpen(t, &tape{choices})
		for range 60 {
			if len(x.rest) == 0 {
				return
			}
			x.step()
		}
	})
}

// open is a limiter, its model, and the reservations that are made.
type open struct {
	*tape
	t       *testing.T
	limit   int
	per     time.Duration
	policy  weir.Policy
	limiter *weir.KeyedLimiter
	clock   kit.HandClock
	now     int64
	model   model
	made    []*booked
}

type booked struct {
	*weir.Reservation
	n       int
	at      int64    // when it was granted
	until   *big.Rat // when it counts no more
	ready   int64    // when it may go ahead
	settled bool
	forgot  bool // by a reset
}

func newOpen(t *testing.T, tp *tape) *open {
	x := &open{tape: tp, t: t, now: kit.T0}
	x.limit = 1 + int(tp.byte())%40
	x.per = 5 * pick(tp, time.Second, time.Second/5, time.Minute, 7*time.Nanosecond, time.Duration(x.limit)*time.Millisecond, 12347*time.Microsecond)
	policies := append(kit.AllPolicies(x.limit, x.per),
		weir.TokenBucket{Limit: x.limit, Per: x.per, Burst: x.limit/2 + 1},
		weir.LeakyBucket{Limit: x.limit, Per: x.per, Capacity: 2 * x.limit})
	x.policy = policies[int(tp.byte())%len(policies)]
	x.clock.Time = time.Unix(0, x.now)
	x.limiter = weir.Must(weir.New(x.policy, weir.WithClock(&x.clock)))
	x.model = modelOf(x.policy)
	return x
}

// ask is the model's answer.
func (x *open) ask(ask weir.Ask) (a weir.Answer) {
	a, x.model = x.model.ask(x.now, ask)
	return a
}

func (x *open) some() int { return int(x.byte()) % (2*x.limit + 3) }

func (x *open) step() {
	what, n := x.byte()%8, x.some()
	switch what {
	case 0:
		r, err := x.limiter.Take(context.Background(), "key", n)
		require.NoError(x.t, err)
		x.equal(x.ask(weir.Ask{N: n}).Result, r, "Take", n)
	case 1:
		granted, r, err := x.limiter.TakeUpTo(context.Background(), "key", n)
		require.NoError(x.t, err)
		want := x.ask(weir.Ask{N: n, Mode: weir.UpTo})
		x.equal(want.Result, r, "TakeUpTo", n)
		x.equal(want.Granted, granted, "TakeUpTo", n)
	case 2:
		x.reserve(n)
	case 3, 4:
		if len(x.made) > 0 {
			x.settle(x.made[int(x.byte())%len(x.made)], n*int(what-3)) // Settle for 0 is Cancel
		}
	case 5:
		require.NoError(x.t, x.limiter.Return(context.Background(), "key", n))
		x.giveBack(n, weir.Ask{N: -n}, rat(math.MaxInt64))
	case 6:
		if x.byte() < 32 {
			require.NoError(x.t, x.limiter.Reset(context.Background(), "key"))
			x.model = modelOf(x.policy)
			for _, b := range x.made {
				b.forgot = true
			}
		}
	case 7:
		event := int64(x.per) / int64(x.limit)
		x.now += pick(x.tape, 1, event, event+1, int64(x.per)/5, int64(x.per)-x.now%int64(x.per), int64(x.per), x.below(3*int64(x.per)))
		x.clock.Time = time.Unix(0, x.now)
	}
	look, err := x.limiter.Take(context.Background(), "key", 0)
	require.NoError(x.t, err)
	x.equal(x.ask(weir.Ask{}).Result, look, "a look after", what, n)
	for _, b := range x.made {
		x.equal(time.Duration(max(b.ready-x.now, 0)), b.Delay(), "Delay")
	}
}

func (x *open) equal(want, got any, what ...any) {
	x.t.Helper()
	require.Equal(x.t, want, got, "%#v: %v", x.policy, what)
}

// reserve books with a deadline of now, of later, or of never.
func (x *open) reserve(n int) {
	ctx, ask := context.Background(), weir.Ask{N: n, MaxWait: 1<<63 - 1}
	if far := pick(x.tape, -1, 0, x.below(2*int64(x.per))); far >= 0 {
		ask.MaxWait = time.Duration(far)
		ctx = kit.Deadline{Context: context.Background(), At: x.clock.Add(ask.MaxWait)}
	}
	r, err := x.limiter.Reserve(ctx, "key", n)
	require.NoError(x.t, err)
	want := x.ask(ask)
	x.equal(want.Result, r.Result, "Reserve", ask)
	if !r.Allowed {
		x.equal(weir.Never, r.Delay(), "Delay of a denial")
		return
	}
	x.made = append(x.made, &booked{Reservation: r, n: n, at: x.now, until: x.paid(), ready: x.now + int64(want.Delay)})
}

func (x *open) settle(b *booked, actual int) {
	if actual == 0 {
		require.NoError(x.t, b.Cancel(context.Background()))
	} else {
		require.NoError(x.t, b.Settle(context.Background(), actual))
	}
	_, tokens := x.model.(tokenModel)
	switch more := actual - b.n; {
	case b.settled:
	case b.forgot && more < 0: // R16: what it charged counts no more
	case tokens && 0 < actual && actual < b.n && x.now < b.ready: // R17: the rest keeps the instant that was told
	case more > 0:
		x.ask(weir.Ask{N: more, Mode: weir.Regardless})
	case more < 0:
		x.giveBack(-more, weir.Ask{N: more, GrantedAt: b.at}, b.until)
	}
	b.settled = true
}

// paid is when a bucket will have paid for all that it has granted.
func (x *open) paid() *big.Rat {
	switch m := x.model.(type) {
	case tokenModel:
		return m.full()
	case queueModel:
		return m.slot
	}
	return nil
}

// giveBack gives n events back to the model. A bucket undoes the last grant, and else frees nothing
// while later ones lie ahead (R17), and no more than what counts until the given instant (R16).
func (x *open) giveBack(n int, ask weir.Ask, until *big.Rat) {
	free := func(paid, perEvent, full *big.Rat) *big.Rat {
		owed := minus(paid, rat(x.now))
		back := smaller(times(rat(int64(n)), perEvent), owed)
		switch {
		case owed.Sign() <= 0:
			return paid
		case until.Cmp(paid) == 0:
		case full.Cmp(owed) < 0:
			return paid
		default:
			back = smaller(back, atLeastZero(minus(until, rat(x.now))))
		}
		return minus(paid, back)
	}
	switch m := x.model.(type) {
	case tokenModel:
		x.ask(weir.Ask{})
		m = x.model.(tokenModel)
		full := times(rat(int64(m.size)), m.perToken)
		paid := free(m.full(), m.perToken, full)
		m.tokens = minus(rat(int64(m.size)), over(minus(paid, rat(x.now)), m.perToken))
		x.model = m
	case queueModel:
		m.slot = free(m.slot, m.perEvent, m.perEvent)
		x.model = m
	default:
		x.ask(ask)
	}
}
