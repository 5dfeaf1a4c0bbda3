package storetest

import (
	"math"

	"github.com/weir-go/weir"
)

// checkWindows checks the grants of a key by windows that start with their first event. A store may
// start a window with an event that it holds and that is never used. The check is therefore that
// windows exist, one after the other, that contain all grants, none of them more than the limit.
func (b *bounded) checkWindows(key string) {
	b.Helper()
	w, ok := b.policy.(weir.FixedWindow)
	if !ok || !w.FromFirst {
		return
	}
	if spent := b.key(key).spent; !fitWindows(spent, w.Limit, int64(w.Per)) {
		b.Fatalf("%s: %#v: there are no windows, one after the other, that have %d grants of %s",
			overRule, w, len(spent), short(key))
	}
}

// fitWindows reports whether there are windows of length per, one after the other, that contain all
// grants, each at most limit events. The grants are in order.
func fitWindows(all []grant, limit int, per int64) bool {
	grants := atInstants(all)
	if len(grants) == 0 {
		return true
	}
	const none = math.MaxInt64
	// from[i] is the earliest instant at which a window may start that has grant i as its first:
	// the end of the one before. An earlier one leaves more choice.
	from := make([]int64, len(grants))
	for i := range from {
		from[i] = none
	}
	from[0] = math.MinInt64
	for i, first := range grants {
		if from[i] == none {
			continue
		}
		ends, latest := max(from[i], first.at-per+1)+per, first.at+per
		n := 0
		for j := i; ; j++ {
			if j == len(grants) {
				return true
			}
			if n += grants[j].n; n > limit {
				break // grant j is behind this window
			}
			if next := j + 1; next < len(grants) && grants[j].at < latest && grants[next].at >= ends {
				from[next] = min(from[next], max(ends, grants[j].at+1))
			}
			if j+1 < len(grants) && grants[j+1].at >= latest {
				break
			}
		}
	}
	return false
}

// atInstants returns one grant for each instant: the sum of the grants of that instant.
func atInstants(all []grant) []grant {
	var grants []grant
	for _, g := range all {
		if last := len(grants) - 1; last >= 0 && grants[last].at == g.at {
			grants[last].n += g.n
		} else {
			grants = append(grants, grant{n: g.n, at: g.at})
		}
	}
	return grants
}
