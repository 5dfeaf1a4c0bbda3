package weir_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// The fuzz targets read bytes as a policy and a course of asks, and hold the policy against its model:
// every field of every answer, the tightness of RetryAfter and of Expiry, on states new and old.
//
// Run them with -fuzzminimizetime=1x. MemStore's hash has a seed of its own in each run, so coverage is not the
// same twice, and go test would spend nearly all the time on minimizing inputs instead of on new ones.

func FuzzTokenBucket(f *testing.F) {
	fuzz(f, func(tp *tape) (weir.Policy, course) {
		limit, per := tp.rate()
		p := weir.TokenBucket{Limit: limit, Per: per, Burst: tp.size(limit)}
		return p, course{limit: or(p.Burst, limit), width: int64(per), event: int64(per) / int64(limit)}
	})
}

func FuzzLeakyBucket(f *testing.F) {
	fuzz(f, func(tp *tape) (weir.Policy, course) {
		limit, per := tp.rate()
		p := weir.LeakyBucket{Limit: limit, Per: per, Capacity: tp.size(limit)}
		return p, course{limit: or(p.Capacity, limit), width: int64(per), event: int64(per) / int64(limit)}
	})
}

func FuzzFixedWindow(f *testing.F) {
	fuzz(f, func(tp *tape) (weir.Policy, course) {
		limit, per := tp.rate()
		p := weir.FixedWindow{Limit: limit, Per: per, FromFirst: tp.byte()%2 == 1}
		return p, course{limit: limit, width: int64(per), event: int64(per) / int64(limit)}
	})
}

func FuzzSlidingWindow(f *testing.F) {
	fuzz(f, func(tp *tape) (weir.Policy, course) {
		limit, per := tp.rate()
		p := weir.SlidingWindow{Limit: limit, Per: per, Buckets: pick(tp, 0, 0, 1, 2, 3, 4, 7, 10, 60, 1000)}
		k := time.Duration(or(p.Buckets, 1))
		p.Per = min(max(p.Per/k, 1), math.MaxInt64/k) * k
		return p, course{limit: limit, width: int64(p.Per / k), event: int64(p.Per) / int64(limit)}
	})
}

func FuzzSlidingLog(f *testing.F) {
	fuzz(f, func(tp *tape) (weir.Policy, course) {
		limit, per := tp.rate()
		return weir.SlidingLog{Limit: limit, Per: per}, course{limit: limit, width: int64(per), event: int64(per) / int64(limit)}
	})
}

// fuzz adds seeds, each a course of its own, and runs a trial of what the bytes say.
func fuzz(f *testing.F, policy func(*tape) (weir.Policy, course)) {
	for seed := range byte(100) {
		bytes := make([]byte, 800)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(bytes)
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		tp := &tape{bytes}
		p, c := policy(tp)
		c.tape = tp
		x := newTrial(t, p)
		now := c.origin()
		c.last = x.ask(now, weir.Ask{})
		for steps := 0; len(tp.rest) > 0 && steps < 50; steps++ {
			now = c.at(x.now)
			ask := c.ask()
			a := x.ask(now, ask)
			c.note(x.now, ask, a)
		}
	})
}
