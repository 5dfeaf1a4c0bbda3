package fleet_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A load is how the requests are spread over the nodes: the share of each, at a time. All shares
// together are 1 on average.
type load struct {
	name  string
	times float64 // of the limit
	share func(node, nodes int, passed time.Duration) float64
}

func uniform(_, nodes int, _ time.Duration) float64 { return 1 / float64(nodes) }

func skewed(node, nodes int, _ time.Duration) float64 {
	all := 0.0
	for i := range nodes {
		all += 1 / float64(i+1)
	}
	return 1 / float64(node+1) / all
}

// moving is on one node in four, others each second.
func moving(node, nodes int, passed time.Duration) float64 {
	parts := min(nodes, 4)
	if node%parts != int(passed/time.Second)%parts {
		return 0
	}
	return float64(parts) / float64(nodes)
}

// bursty is on all nodes for 60 of 200 milliseconds.
func bursty(_, nodes int, passed time.Duration) float64 {
	if passed%(200*time.Millisecond) >= 60*time.Millisecond {
		return 0
	}
	return 200. / 60 / float64(nodes)
}

func single(node, _ int, _ time.Duration) float64 {
	if node > 0 {
		return 0
	}
	return 1
}

// The rules of a Lease were chosen by the first five.
var loads = []load{
	{"0.5× uniform", 0.5, uniform},
	{"1× uniform", 1, uniform},
	{"3× uniform", 3, uniform},
	{"3× skewed", 3, skewed},
	{"3× moving", 3, moving},
	{"1.1× uniform", 1.1, uniform},
	{"2× bursty", 2, bursty},
	{"3× one node", 3, single},
}

// A row is a policy under each of the loads.
type row struct {
	policy weir.Policy
	perSec float64
	lasts  time.Duration // a lease; see docs/fleet.md
}

var rows = []row{
	{weir.TokenBucket{Limit: 10_000, Per: time.Second}, 10_000, time.Second / 16},
	{weir.FixedWindow{Limit: 20_000, Per: 2 * time.Second}, 10_000, 2 * time.Second / 32},
	{weir.SlidingWindow{Limit: 10_000, Per: time.Second}, 10_000, time.Second / 32},
	{weir.SlidingWindow{Limit: 1000, Per: time.Second}, 1000, time.Second / 32},
}

// A cell is how much of what one store would grant to all is granted, and how often the store is
// asked.
type cell struct{ usable, calls float64 }

// warmUp is the time in which the nodes see the decisions before their first lease. The calls of
// the store are counted after it.
const warmUp = 250 * time.Millisecond

func simulate(t *testing.T, r row, nodes int, l load) (c cell) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, r.policy, nodes, 1)
		time.Sleep(1234 * time.Millisecond)
		w.warm = time.Now().Add(warmUp)
		w.run(runs.Long(5*time.Second, 500*time.Millisecond), 1, func(node int, passed time.Duration) float64 {
			return l.times * r.perSec * l.share(node, nodes, passed)
		})
		if over := w.over(); over > 0 {
			t.Errorf("%v, %d nodes, %s: %d of %d over", r.policy, nodes, l.name, over, len(w.granted))
		}
		c.usable = 100 * float64(sum(w.granted)) / float64(w.ideal()) // which sorts what was asked for
		cold, _ := slices.BinarySearchFunc(w.asked, w.warm.UnixNano(), func(u use, at int64) int { return cmp.Compare(u.at, at) })
		c.calls = float64(w.calls) / float64(len(w.asked)-cold)
	})
	return c
}

// check holds a cell to what docs/fleet.md promises.
func (c cell) check(t *testing.T, r row, nodes int, l load) {
	name := fmt.Sprintf("%v, %d nodes, %s", r.policy, nodes, l.name)
	assert.LessOrEqual(t, c.calls, 1.05, name)
	switch perNode := l.times * r.perSec / float64(nodes) * r.lasts.Seconds(); {
	case runs.Long(0, 1) == 1: // too short to tell
		return
	case perNode >= 20 && l.share(0, nodes, 0) == uniform(0, nodes, 0):
		assert.LessOrEqual(t, c.calls, 0.05, name)
	}
	if l.times >= 3 && r.perSec >= 10_000 {
		assert.GreaterOrEqual(t, c.usable, 99.0, name)
	}
	assert.GreaterOrEqual(t, c.usable, 97.0, name)
	if _, ok := r.policy.(weir.SlidingWindow); ok && l.times == 1 {
		assert.GreaterOrEqual(t, c.usable, 98.0, name)
	}
}

// The table of docs/fleet.md.
func TestTable(t *testing.T) {
	var out strings.Builder
	for _, r := range rows[:runs.Long(len(rows), 2)] {
		for _, nodes := range runs.Long([]int{2, 8, 64}, []int{8}) {
			fmt.Fprintf(&out, "\n| `%v`, %d nodes |", r.policy, nodes)
			for _, l := range loads {
				c := simulate(t, r, nodes, l)
				c.check(t, r, nodes, l)
				fmt.Fprintf(&out, " %.1f / %.3f |", c.usable, c.calls)
			}
		}
	}
	t.Log(out.String())
}
