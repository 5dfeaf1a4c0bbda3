package oracle

import (
	"math"
	"time"

	"github.com/weir-go/weir"
)

// The methods below read policies, and how to ask them, from a tape.

func (tp *tape) tokenBucket() (weir.Policy, course) {
	limit, per := tp.rate()
	p := weir.TokenBucket{Limit: limit, Per: per, Burst: tp.size(limit)}
	return p, course{limit: or(p.Burst, limit), width: int64(per), event: int64(per) / int64(limit)}
}

func (tp *tape) leakyBucket() (weir.Policy, course) {
	limit, per := tp.rate()
	p := weir.LeakyBucket{Limit: limit, Per: per, Capacity: tp.size(limit)}
	return p, course{limit: or(p.Capacity, limit), width: int64(per), event: int64(per) / int64(limit)}
}

func (tp *tape) fixedWindow() (weir.Policy, course) {
	limit, per := tp.rate()
	p := weir.FixedWindow{Limit: limit, Per: per, FromFirst: tp.byte()%2 == 1}
	return p, course{limit: limit, width: int64(per), event: int64(per) / int64(limit)}
}

func (tp *tape) slidingWindow() (weir.Policy, course) {
	limit, per := tp.rate()
	p := weir.SlidingWindow{Limit: limit, Per: per, Buckets: pick(tp, 0, 0, 1, 2, 3, 4, 7, 10, 60, 1000)}
	k := time.Duration(or(p.Buckets, 1))
	p.Per = min(max(p.Per/k, 1), math.MaxInt64/k) * k
	return p, course{limit: limit, width: int64(p.Per / k), event: int64(p.Per) / int64(limit)}
}

func (tp *tape) slidingLog() (weir.Policy, course) {
	limit, per := tp.rate()
	return weir.SlidingLog{Limit: limit, Per: per}, course{limit: limit, width: int64(per), event: int64(per) / int64(limit)}
}
