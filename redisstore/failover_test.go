package redisstore

import (
	"context"
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
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// serverSkew is what the scripts bear when the clock is a real one.
const serverSkew = 100 * time.Millisecond

var everyKind = []weir.Policy{
	weir.TokenBucket{Limit: 10, Per: 10 * time.Second},
	weir.TokenBucket{Limit: 7, Per: 10 * time.Second, Burst: 10},
	weir.LeakyBucket{Limit: 10, Per: 10 * time.Second},
	weir.FixedWindow{Limit: 10, Per: 10 * time.Second},
	weir.FixedWindow{Limit: 10, Per: 10 * time.Second, FromFirst: true},
	weir.SlidingWindow{Limit: 10, Per: 10 * time.Second},
	weir.SlidingWindow{Limit: 10, Per: 10 * time.Second, Buckets: 5},
	weir.SlidingLog{Limit: 10, Per: 10 * time.Second},
	weir.SlidingLog{Limit: 1000, Per: 10 * time.Second},
	inGo{weir.TokenBucket{Limit: 10, Per: 10 * time.Second}},
	inGo{weir.SlidingLog{Limit: 10, Per: 10 * time.Second}},
}

// A master whose clock is ahead is lost, and one takes over whose clock is right. The states that
// the first one left are not forgotten. They deny for no longer than if the key had been used up
// just now.
func TestStateFromAClockAhead(t *testing.T) {
	t.Parallel()
	client := newClient(t, redistest.Single(t).Addr())
	right := time.Unix(1_700_000_000, 0).Add(3210 * time.Millisecond)
	for _, ahead := range []time.Duration{10 * time.Second, 24 * time.Hour, 30 * time.Second}[:runs.Long(3, runs.InCI(2, 1))] {
		for _, p := range everyKind {
			t.Run(fmt.Sprintf("%v %T%+v", ahead, p, p), func(t *testing.T) {
				s := newDriven(t, client, serverSkew)
				l := newLimiter(t, s, p, "")
				exhaust := func(key string) weir.Result {
					for {
						if r := take(t, l, key, 1); !r.Allowed {
							return r
						}
					}
				}
				s.set(right)
				fresh := exhaust("fresh")
				// Where windows are aligned, exhaust the key at the beginning of one.
				s.set(right.Add(ahead).Truncate(10 * time.Second))
				exhaust("k")

				s.set(right)
				r := take(t, l, "k", 1)
				require.False(t, r.Allowed, "what was counted is forgotten")
				longest := max(fresh.RetryAfter, fresh.ResetAfter)
				assert.LessOrEqual(t, r.RetryAfter, longest)
				assert.LessOrEqual(t, r.ResetAfter, longest)
				s.set(right.Add(r.RetryAfter - time.Microsecond))
				assert.False(t, take(t, l, "k", 1).Allowed, "RetryAfter is tight")
				s.set(right.Add(r.RetryAfter).Add(time.Microsecond)) // RetryAfter is told in nanoseconds
				assert.True(t, take(t, l, "k", 1).Allowed)
			})
		}
	}
}

// A clock that is behind by 150 ms may show an instant that is less than 100 ms before the window
// that is used up. The key then waits for that window, too. A policy without a script keeps the rest
// of its window.
func TestWindowFromAClockAhead(t *testing.T) {
	t.Parallel()
	client := newClient(t, redistest.Single(t).Addr())
	begins := time.Unix(1_700_000_040, 0) // a minute
	for p, rest := range map[weir.Policy]time.Duration{
		weir.FixedWindow{Limit: 10, Per: time.Minute}:     time.Minute + 60*time.Millisecond,
		weir.CalendarWindow{Limit: 10, Unit: weir.Minute}: time.Minute - 90*time.Millisecond,
	} {
		s := newDriven(t, client, serverSkew)
		l := newLimiter(t, s, p, "")
		s.set(begins.Add(90 * time.Millisecond))
		require.True(t, take(t, l, "k", 10).Allowed)
		s.set(begins.Add(-60 * time.Millisecond))
		assert.Equal(t, rest, take(t, l, "k", 1).RetryAfter, "%v", p)
	}
}

// R14: so it is with a key in which several policies have counted, also if this process does not
// know one of them. Denials do not stop its time.
func TestR14_StateOfSeveralPoliciesFromAClockAhead(t *testing.T) {
	t.Parallel()
	client := newClient(t, redistest.Single(t).Addr())
	right := time.Unix(1_700_000_000, 0)
	foreign := inGo{weir.SlidingLog{Limit: 10, Per: 10 * time.Second}}
	for _, test := range []struct{ first, then weir.Policy }{
		{weir.SlidingLog{Limit: 10, Per: 10 * time.Second}, weir.TokenBucket{Limit: 10, Per: 10 * time.Second}},
		{weir.TokenBucket{Limit: 10, Per: 10 * time.Second}, weir.All(weir.FixedWindow{Limit: 9, Per: 5 * time.Second, FromFirst: true})},
		{foreign, weir.TokenBucket{Limit: 10, Per: 10 * time.Second}},
		{foreign, foreign},
	} {
		t.Run(fmt.Sprintf("%v then %v", test.first, test.then), func(t *testing.T) {
			s := newDrivenWith(t, client, serverSkew, remote.Config{Prefix: "several"})
			l := newLimiter(t, s, test.first, t.Name())
			s.set(right.Add(time.Hour))
			take(t, l, "k", 5)
			require.NoError(t, l.SetPolicy(t.Context(), test.then))
			require.True(t, take(t, l, "k", 1).Allowed)
			require.NoError(t, l.SetPolicy(t.Context(), test.first))
			for take(t, l, "k", 1).Allowed {
			}

			second := newDrivenWith(t, client, serverSkew, remote.Config{Prefix: "several"})
			l = newLimiter(t, second, test.then, t.Name())
			for take(t, l, "k", 1).Allowed {
			}
			second.set(right)
			for passed := time.Duration(0); !take(t, l, "k", 1).Allowed; passed += 100 * time.Millisecond {
				require.LessOrEqual(t, passed, 10*time.Second, "the key stays shut")
				second.set(right.Add(passed))
			}
		})
	}
}

// An instant that was booked ahead is not mistaken for one of a clock that is ahead.
func TestBookingsAreNotCutOff(t *testing.T) {
	s := newDriven(t, newClient(t, redistest.Single(t).Addr()), serverSkew)
	s.set(time.Unix(1_700_000_000, 0))
	var plan *weir.Plan
	l := newLimiter(t, storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		plan = r.Plan
		return s.Do(ctx, r)
	}), weir.TokenBucket{Limit: 1, Per: time.Second}, "")
	take(t, l, "k", 1)
	for want := time.Second; want <= 100*time.Second; want += time.Second {
		a, err := s.Do(context.Background(), weir.Request{Plan: plan, Key: "k", Ask: weir.Ask{N: 1, MaxWait: weir.Never}})
		require.NoError(t, err)
		require.True(t, a.Allowed)
		require.Equal(t, want, a.Delay)
		require.Equal(t, s.now.Load(), a.At)
	}
}

// A store answers every request as the policy decides, also where the script can't decide: states
// with debts, numbers and spans that are too large, and policies that are no longer in the form
// that the script knows.
func TestStoreAnswersAsDecidersDo(t *testing.T) {
	t.Parallel()
	client := newClient(t, redistest.Single(t).Addr())
	policies := append(slices.Clone(everyKind),
		weir.TokenBucket{Limit: 1, Per: math.MaxInt64},
		weir.TokenBucket{Limit: 299_993, Per: time.Hour},
		weir.FixedWindow{Limit: 3, Per: 1234},
		weir.FixedWindow{Limit: math.MaxInt, Per: time.Second},
		weir.SlidingWindow{Limit: 3, Per: 1234},
		weir.SlidingWindow{Limit: 250, Per: time.Second, Buckets: 2}, // a count has two bytes
		weir.SlidingLog{Limit: 1 << 21, Per: time.Second},
		weir.SlidingLog{Limit: 2, Per: math.MaxInt64},
	)
	for i, p := range policies {
		t.Run(fmt.Sprintf("%T%+v", p, p), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			s := newDriven(t, client, anySkew)
			var plan *weir.Plan
			newLimiter(t, storeFunc(func(_ context.Context, r weir.Request) (weir.Answer, error) {
				plan = r.Plan
				return weir.Answer{}, nil
			}), p, "").Allow("")
			d := plan.Decider
			state := make([]uint64, d.Words())
			now := int64(1_700_000_000_123_457_000)
			var last weir.Ask
			granted, denied := 0, 0
			for step := range runs.Long(1500, runs.InCI(250, 120)) {
				_, look := d.Decide(slices.Clone(state), now, weir.Ask{})
				reset := min(int64(look.ResetAfter/time.Microsecond), 1<<36)
				switch random.IntN(10) {
				case 0, 1:
					now += 1000
				case 2, 3:
					now += 1000 * random.Int64N(reset/10+2)
				case 4:
					now += 1000 * reset
				case 5:
					now += 1000 * random.Int64N(reset+2)
				}
				ask := weir.Ask{N: 1 + random.IntN(min(look.Limit, 5))}
				switch random.IntN(8) {
				case 0:
					ask.Mode = weir.UpTo
				case 1:
					ask.Mode = weir.Regardless
					if random.IntN(6) == 0 {
						ask.N = []int{300, 70_000, math.MaxInt32, math.MaxInt}[random.IntN(4)]
					}
				case 2:
					switch ask = last; random.IntN(6) {
					case 0, 1, 2: // of any grant
						ask.GrantedAt, ask.Charges = 0, nil
					case 3: // no instant of the server's
						ask.GrantedAt, ask.Charges = ask.GrantedAt+1, nil
					}
				case 3:
					ask.N = 0
				case 4:
					ask.MaxWait = time.Duration(random.Int64N(int64(max(look.ResetAfter, 1))))
				}
				var want weir.Answer
				var charges, gotCharges []weir.Charge
				if ask.N > 0 {
					ask.Charges = &charges
				}
				state, want = d.Decide(state, now, ask)
				want.At, want.ServerTime = now, true
				if ask.N > 0 && want.Allowed {
					last = weir.Ask{N: -ask.N, GrantedAt: now, Charges: &charges}
					granted++
				} else if ask.N > 0 {
					denied++
				}
				s.now.Store(now)
				if ask.N > 0 {
					ask.Charges = &gotCharges
				}
				got, err := s.Do(context.Background(), weir.Request{Plan: plan, Key: "k", Ask: ask})
				require.NoError(t, err)
				require.Equal(t, want, got, "step %d, %+v", step, ask)
				require.Equal(t, charges, gotCharges, "step %d, %+v", step, ask)
			}
			assert.Greater(t, granted, runs.Long(100, runs.InCI(25, 12)))
		})
	}
}
