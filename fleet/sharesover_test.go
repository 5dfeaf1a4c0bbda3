package fleet_test

import (
	"fmt"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// over returns the first grant that breaks the policy, or "". The whole is asked for each grant.
func (g *group) over() string {
	now := time.Now().UnixNano()
	limit := kit.NewKey(g.t, g.policy).Look(now).Limit
	replay := func(p weir.Policy, by func(granted) bool) string {
		whole := kit.NewKey(g.t, p)
		for i, e := range g.grants {
			for range e.n { // a request for several is one event of a LeakyBucket, but none of them here
				if by(e) && !whole.Take(e.at, 1).Allowed {
					return fmt.Sprintf("grant %d of %d events by %d breaks %v", i, e.n, e.by, p)
				}
			}
		}
		return ""
	}
	all := func(granted) bool { return true }
	color := func(i int) func(granted) bool { return func(e granted) bool { return e.by == i } }
	switch p := g.policy.(type) {
	case weir.FixedWindow:
		if !p.FromFirst {
			break
		}
		// Each process has windows of its own. Two of them meet in a span.
		for i, first := range g.grants {
			sum := 0
			for _, e := range g.grants[i:] {
				if e.at < first.at+int64(p.Per) {
					sum += e.n
				}
			}
			if sum > 2*limit {
				return fmt.Sprintf("%d events in the span from grant %d", sum, i)
			}
		}
		return ""
	case weir.LeakyBucket:
		whole := kit.NewKey(g.t, p)
		for i, e := range g.grants {
			if !whole.Take(e.at, e.n).Allowed {
				return fmt.Sprintf("grant %d of %d events", i, e.n)
			}
		}
		return ""
	case weir.SingleRateMarker:
		both := p.Committed
		both.Burst += p.Excess
		if broken := replay(p.Committed, color(0)); broken != "" {
			return broken
		}
		return replay(both, all)
	case weir.TwoRateMarker:
		if broken := replay(p.Committed, color(0)); broken != "" {
			return broken
		}
		return replay(p.Peak, all)
	}
	if tiers := weir.Components(g.policy); tiers != nil && fmt.Sprint(g.policy)[:3] != "all" {
		for i, tier := range tiers {
			if broken := replay(tier, color(i)); broken != "" {
				return broken
			}
		}
		return ""
	}
	return replay(g.policy, all)
}
