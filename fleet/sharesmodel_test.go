package fleet_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A disorder is what processes do wrong.
type disorder int

const (
	none        disorder = iota
	joinsEarly           // who joins does not wait until the others count it
	leavesLate           // who leaves is no longer counted, and then stops
	ignoresEnds          // who is cut off goes on
	takesFirst           // who joins is numbered before the others
)

// A member is a process, and its session in the registry.
type member struct {
	shares  *fleet.Shares
	limiter *weir.KeyedLimiter
	expires time.Time // its session
	counts  *member   // the latest to join that it counts
	cutOff  bool      // does not reach the registry
	late    bool      // has left, and does not know yet
}

// A group is processes that divide a limit, and the registry of their sessions.
type group struct {
	t        *testing.T
	policy   weir.Policy
	span     time.Duration
	disorder disorder
	rand     *rand.Rand
	sessions []*member // in the order in which they joined
	members  []*member // that have not gone, with a session or without
	grants   []granted
}

// A granted is events that a member granted.
type granted struct {
	at int64
	n  int
	by int
}

func (g *group) session() time.Time { return time.Now().Add(3 * g.span) }

func (g *group) join() {
	if len(g.members) == 5 {
		return
	}
	m := &member{shares: fleet.NewShares(new(weir.MemStore))}
	m.limiter = weir.Must(weir.New(g.policy, weir.WithStore(m.shares)))
	g.members = append(g.members, m)
	g.register(m)
}

// register starts a session.
func (g *group) register(m *member) {
	m.expires, m.counts = g.session(), nil
	if g.disorder == takesFirst {
		g.sessions = slices.Insert(g.sessions, 0, m)
	} else {
		g.sessions = append(g.sessions, m)
	}
	g.see(m)
}

// see lets a member read the registry, set its membership, and tell the registry whom it counts.
func (g *group) see(m *member) {
	index := slices.Index(g.sessions, m)
	if m.cutOff || m.late || index < 0 {
		return
	}
	now := fleet.Membership{Members: len(g.sessions), Index: index, Until: m.expires}
	for _, other := range g.sessions {
		if other != m && !slices.Contains(g.sessions[index:], other) && !g.counted(m, other) && g.disorder != joinsEarly {
			now = fleet.Membership{}
		}
	}
	if g.disorder == ignoresEnds {
		now.Until = time.Time{}
	}
	require.NoError(g.t, m.shares.Set(now))
	m.counts = g.sessions[len(g.sessions)-1]
}

// counted reports whether other, which joined before m, has announced that it counts m.
func (g *group) counted(m, other *member) bool {
	return other.counts != nil && slices.Index(g.sessions, other.counts) >= slices.Index(g.sessions, m)
}

// renew prolongs the session of a member, or starts another if it has expired.
func (g *group) renew(m *member) {
	switch {
	case m.cutOff, m.late:
	case !slices.Contains(g.sessions, m):
		g.register(m)
	default:
		m.expires = g.session()
		g.see(m)
	}
}

func (g *group) leave(m *member) {
	remove := func(from *[]*member) { *from = slices.DeleteFunc(*from, func(n *member) bool { return n == m }) }
	if g.disorder == leavesLate {
		remove(&g.sessions)
		m.late = true // it will know later
		return
	}
	require.NoError(g.t, m.shares.Set(fleet.Membership{}))
	remove(&g.sessions)
	remove(&g.members)
}

// crash ends a process. Its session goes on until it expires.
func (g *group) crash(m *member) {
	g.members = slices.DeleteFunc(g.members, func(n *member) bool { return n == m })
}

func (g *group) expire() {
	g.sessions = slices.DeleteFunc(g.sessions, func(m *member) bool { return !m.expires.After(time.Now()) })
}

func (g *group) ask(m *member) {
	limit := kit.NewKey(g.t, g.policy).Look(time.Now().UnixNano()).Limit
	n := 1 + g.rand.IntN(limit/2+1)
	var r weir.Result
	switch g.rand.IntN(4) {
	case 0:
		var err error
		n, r, err = m.limiter.TakeUpTo(context.Background(), "k", n)
		require.NoError(g.t, err)
	case 1:
		for n = 1; ; {
			if r = kit.Take(g.t, m.limiter, "k", n); !r.Allowed {
				return
			}
			g.grant(r, n)
		}
	case 2:
		reserved, err := m.limiter.Reserve(context.Background(), "k", n)
		require.NoError(g.t, err)
		if r = reserved.Result; g.rand.IntN(2) == 0 {
			require.NoError(g.t, reserved.Settle(context.Background(), n/2))
			n /= 2
		}
	default:
		r = kit.Take(g.t, m.limiter, "k", n)
	}
	g.grant(r, n)
}

func (g *group) grant(r weir.Result, n int) {
	if r.Allowed && n > 0 {
		g.grants = append(g.grants, granted{time.Now().UnixNano(), n, r.DecidedBy})
	}
}

func (g *group) step() {
	var m *member
	if len(g.members) > 0 {
		m = g.members[g.rand.IntN(len(g.members))]
	}
	switch p := g.rand.IntN(100); {
	case p < 10 || m == nil:
		g.join()
	case p < 55:
		g.ask(m)
	case p < 75:
		g.see(m)
	case p < 84:
		g.renew(m)
	case p < 86:
		g.leave(m)
	case p < 87:
		g.crash(m)
	case p < 89:
		m.cutOff = !m.cutOff
	case p < 91:
		g.expire()
	case p < 93:
		time.Sleep(time.Duration(g.rand.Int64N(int64(2 * g.span))))
	default:
		time.Sleep(time.Duration(g.rand.Int64N(int64(g.span / 8))))
	}
}

// divide lets members of a random group ask for a key, and returns what breaks the policy.
func divide(t *testing.T, policy weir.Policy, wrong disorder, seed uint64) (broken string, events int) {
	synctest.Test(t, func(t *testing.T) {
		g := &group{t: t, policy: policy, disorder: wrong, rand: rand.New(rand.NewPCG(seed, 0))}
		whole := kit.NewKey(t, policy)
		now := time.Now().UnixNano()
		whole.Fill(now)
		g.span = time.Duration(whole.Expiry(whole.State) - now)
		for range 400 {
			g.step()
		}
		broken = g.over()
		for _, e := range g.grants {
			events += e.n
		}
	})
	return broken, events
}

func dividedPolicies() (all []weir.Policy) {
	for _, limit := range []int{3, 10, 100} {
		all = append(all, kit.AllPolicies(limit, 10*time.Second)...)
		all = append(all, kit.MorePolicies(limit, 10*time.Second)...)
	}
	return append(all, weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 20}, custom{weir.SlidingLog{Limit: 10, Per: time.Second}})
}

// custom is a policy that no package knows.
type custom struct{ weir.SlidingLog }

// In no window or span do all processes together grant more than the policy, whatever joins,
// leaves, crashes, comes back or is cut off, and however late the others know.
func TestShares_NeverOver(t *testing.T) {
	for _, p := range dividedPolicies() {
		sum := 0
		for seed := range uint64(runs.Long(50, 2)) {
			broken, events := divide(t, p, none, seed)
			require.Empty(t, broken, "%#v, seed %d", p, seed)
			sum += events
		}
		assert.Positive(t, sum, "%#v", p)
	}
}

// Nor do they if a policy of another package grants more at other times, whenever each of them is
// asked first.
func TestShares_NeverOverALimitThatChanges(t *testing.T) {
	midnight := time.Unix(0, kit.T0).Truncate(24 * time.Hour).Add(24 * time.Hour)
	for _, limits := range [][2]int{{10, 1}, {1, 10}} { // by day, and at night
		for first := range 4 { // a bit for each process that is asked at midnight
			sums := [2]int{}
			for i := range 2 {
				l, clock := kit.Frozen(kit.Hourly(limits[0], limits[1]), weir.WithStore(sharesOf(t, new(weir.MemStore), i, 2)))
				if clock.Time = midnight; first>>i&1 == 1 {
					kit.Take(t, l, "k", 0)
				}
				for part := range sums {
					clock.Time = clock.Add(12 * time.Hour)
					for l.Allow("k") {
						sums[part]++
					}
				}
			}
			assert.LessOrEqual(t, sums[0], limits[0], "by day, %v, %b", limits, first)
			assert.LessOrEqual(t, sums[1], limits[1], "at night, %v, %b", limits, first)
		}
	}
}

// The model finds what goes wrong if the order is not kept.
func TestShares_OrderMatters(t *testing.T) {
	for _, wrong := range []disorder{joinsEarly, leavesLate, ignoresEnds, takesFirst} {
		p := weir.Policy(weir.FixedWindow{Limit: 100, Per: 10 * time.Second})
		if wrong == takesFirst {
			p = weir.FixedWindow{Limit: 2, Per: 10 * time.Second}
		}
		found := false
		for seed := range uint64(2000) {
			if broken, _ := divide(t, p, wrong, seed); broken != "" {
				found = true
				t.Logf("disorder %d: seed %d: %s", wrong, seed, broken)
				break
			}
		}
		assert.True(t, found, "disorder %d", wrong)
	}
}
