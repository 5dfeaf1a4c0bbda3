package waiting

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// R18: whatever happens while they wait, and in however quick succession, the callers of a key are
// granted in the order in which they came. Each seed is a short sequence of steps at random.
func TestR18_OrderAtRandom(t *testing.T) {
	seeds := uint64(runs.Long(2000, runs.InCI(200, 100)))
	for _, test := range []struct {
		name      string
		byContext bool          // each caller brings its own policy
		latency   time.Duration // of the store, at most
	}{
		{"one policy", false, 0},
		{"a policy for each caller", true, 0},
		{"a slow store", false, 5 * ms},
		{"a slow store and a policy for each caller", true, 5 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			for seed := range seeds {
				o := ordered{random: rand.New(rand.NewPCG(seed, 18)), latency: test.latency, byContext: test.byContext}
				synctest.Test(t, o.play)
			}
		})
	}
}

// The shortest sequence in which the order was lost once.
func TestR18_ResetAndSetPolicyShortlyAfterEachOther(t *testing.T) {
	bubble(t, weir.LeakyBucket{Limit: 3, Per: time.Second}, func(c *crowd) {
		for _, name := range []string{"a", "b", "c"} {
			c.come(name, 1)
		}
		require.NoError(c.t, c.l.Reset(background, "k"))
		require.NoError(c.t, c.l.SetPolicy(background, weir.FixedWindow{Limit: 3, Per: time.Second}))
		require.NoError(c.t, c.l.SetPolicy(background, weir.FixedWindow{Limit: 1, Per: time.Second}))
		require.NoError(c.t, c.l.Reset(background, "k"))
		c.end()
		require.LessOrEqual(c.t, c.callers[0].at, c.callers[1].at)
		require.LessOrEqual(c.t, c.callers[1].at, c.callers[2].at)
	})
}

var orderPolicies = []weir.Policy{
	weir.TokenBucket{Limit: 3, Per: time.Second},
	weir.TokenBucket{Limit: 3, Per: time.Second, Burst: 2},
	weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 3},
	weir.LeakyBucket{Limit: 3, Per: time.Second},
	weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: 50},
	weir.FixedWindow{Limit: 3, Per: time.Second},
	weir.FixedWindow{Limit: 2, Per: time.Second, FromFirst: true},
	weir.SlidingWindow{Limit: 3, Per: time.Second},
	weir.SlidingLog{Limit: 2, Per: time.Second},
	weir.All(weir.TokenBucket{Limit: 3, Per: time.Second, Burst: 2}, weir.LeakyBucket{Limit: 5, Per: time.Second}),
	weir.All(weir.TokenBucket{Limit: 4, Per: time.Second, Burst: 2}, weir.SlidingLog{Limit: 6, Per: 2 * time.Second}),
	weir.Tiers(weir.TokenBucket{Limit: 2, Per: time.Second, Burst: 2}, weir.FixedWindow{Limit: 2, Per: time.Second}),
	weir.TwoRateMarker{
		Committed: weir.TokenBucket{Limit: 2, Per: time.Second},
		Peak:      weir.TokenBucket{Limit: 4, Per: time.Second, Burst: 3},
	},
}

// ordered is a random sequence of steps.
type ordered struct {
	random    *rand.Rand
	latency   time.Duration
	byContext bool

	mu    sync.Mutex // guards random where the store uses it
	steps []string
}

type ownPolicy struct{}

func (o *ordered) upTo(n int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.random.IntN(n)
}

func (o *ordered) policy() weir.Policy { return orderPolicies[o.upTo(len(orderPolicies))] }

func (o *ordered) play(t *testing.T) {
	mem := new(weir.MemStore)
	opts := []weir.Option{weir.WithStore(kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if o.latency > 0 {
			time.Sleep(time.Duration(o.upTo(int(o.latency))))
			defer func() { time.Sleep(time.Duration(o.upTo(int(o.latency)))) }()
		}
		return mem.Do(ctx, r)
	}))}
	if o.byContext {
		opts = append(opts, weir.WithPolicyFor(func(ctx context.Context, _ string) weir.Policy {
			p, _ := ctx.Value(ownPolicy{}).(weir.Policy)
			return p
		}))
	}
	p := o.policy()
	o.steps = append(o.steps, fmt.Sprintf("%#v", p))
	c := newCrowd(t, weir.Must(weir.New(p, opts...)))
	var came []time.Duration
	own := []weir.Policy{o.policy(), o.policy()}
	for range 4 + o.upTo(16) {
		switch step := o.upTo(10); {
		case step < 5:
			came = append(came, time.Since(c.start))
			n := 1 + o.upTo(2)
			ctx := background
			if i := o.upTo(3); o.byContext && i < 2 {
				ctx = context.WithValue(ctx, ownPolicy{}, own[i])
			}
			o.steps = append(o.steps, fmt.Sprintf("%v wait %d (%#v)", time.Since(c.start), n, ctx.Value(ownPolicy{})))
			c.comeFor("k", fmt.Sprint(len(came)), n, ctx)
		case step == 5 && len(c.callers) > 0:
			w := c.callers[o.upTo(len(c.callers))]
			o.steps = append(o.steps, fmt.Sprintf("%v cancel %s", time.Since(c.start), w.name))
			w.cancel()
		case step == 6:
			p := o.policy()
			o.steps = append(o.steps, fmt.Sprintf("%v %#v", time.Since(c.start), p))
			require.NoError(t, c.l.SetPolicy(background, p))
		case step == 7:
			o.steps = append(o.steps, fmt.Sprintf("%v reset", time.Since(c.start)))
			require.NoError(t, c.l.Reset(background, "k"))
		case step == 8 && o.upTo(2) == 0:
			o.steps = append(o.steps, fmt.Sprintf("%v allow", time.Since(c.start)))
			c.l.Allow("k")
		default:
			time.Sleep(time.Duration(o.upTo(int(600 * ms))))
		}
		if o.upTo(2) == 0 {
			synctest.Wait()
		}
	}
	time.Sleep(2 * time.Minute) // under the changed policies some would wait for long
	for _, w := range c.callers {
		w.cancel()
	}
	c.end()
	for j, w := range c.callers {
		if w.err != nil {
			continue
		}
		for i, earlier := range c.callers[:j] {
			// Callers that come before the store has answered any of them have no order.
			if earlier.err == nil && (o.latency == 0 || came[j]-came[i] > 200*ms) {
				require.LessOrEqual(t, earlier.at, w.at, "%s before %s\n%s", w, earlier, strings.Join(o.steps, "\n"))
			}
			if earlier.err != nil && earlier.at > 2*time.Minute {
				require.Greater(t, w.at, 2*time.Minute, "%s before %s\n%s", w, earlier, strings.Join(o.steps, "\n"))
			}
		}
	}
}
