package oracle

import (
	"math/rand/v2"
	"testing"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// The fuzz targets read bytes as a policy and a course of asks, and hold the policy against its
// model: every field of every answer, the tightness of RetryAfter and of Expiry, on states new and
// old.
//
// Run them with -fuzzminimizetime=1x. MemStore's hash has a seed of its own in each run, so
// coverage is not the same twice, and go test would spend nearly all the time on minimizing inputs
// instead of on new ones.

func FuzzTokenBucket(f *testing.F)   { fuzz(f, (*tape).tokenBucket) }
func FuzzLeakyBucket(f *testing.F)   { fuzz(f, (*tape).leakyBucket) }
func FuzzFixedWindow(f *testing.F)   { fuzz(f, (*tape).fixedWindow) }
func FuzzSlidingWindow(f *testing.F) { fuzz(f, (*tape).slidingWindow) }
func FuzzSlidingLog(f *testing.F)    { fuzz(f, (*tape).slidingLog) }

// fuzz adds seeds, each a course of its own, and runs a trial of what the bytes say.
func fuzz(f *testing.F, policy func(*tape) (weir.Policy, course)) {
	for seed := range runs.Long[byte](100, 20) {
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
