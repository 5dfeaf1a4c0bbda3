package benchmarks

import (
	"time"

	"github.com/weir-go/weir"
)

const weirModule = "github.com/weir-go/weir"

// weirs are the five policies of weir, in memory.
var weirs = []Contender{
	{
		Name: Leader, Module: weirModule, How: "exact", Kind: Counts,
		New: func(q Quota) Limiter { return newWeir(weir.TokenBucket{Limit: q.Limit, Per: q.Per}) },
	},
	{
		Name: "weir/LeakyBucket", Module: weirModule, Kind: Paces,
		How: "exact. A key expires when its outlet is free. At one instant it grants one request",
		New: func(q Quota) Limiter { return newWeir(weir.LeakyBucket{Limit: q.Limit, Per: q.Per}) },
	},
	{
		Name: "weir/FixedWindow", Module: weirModule, How: "exact", Kind: Counts,
		New: func(q Quota) Limiter { return newWeir(weir.FixedWindow{Limit: q.Limit, Per: q.Per}) },
	},
	{
		Name: "weir/SlidingWindow", Module: weirModule, How: "exact, by the weighted estimate", Kind: Counts,
		New: func(q Quota) Limiter { return newWeir(weir.SlidingWindow{Limit: q.Limit, Per: q.Per}) },
	},
	{
		Name: "weir/SlidingLog", Module: weirModule, How: "exact", Kind: Logs,
		New: func(q Quota) Limiter { return newWeir(weir.SlidingLog{Limit: q.Limit, Per: q.Per}) },
	},
	{
		Name: AllOfFive, Module: weirModule, Kind: Counts,
		How:  "exact. Five TokenBuckets in one decision, each faster than the one before by a nanosecond per event",
		Only: "methods",
		New: func(q Quota) Limiter {
			var ps []weir.Policy
			for i := range 5 {
				ps = append(ps, weir.TokenBucket{Limit: q.Limit, Per: q.Per - time.Duration(i*q.Limit)})
			}
			return newWeir(weir.All(ps...))
		},
	},
	{
		Name: "weir/TokenBucket, MaxKeys 100,000", Module: weirModule, How: "exact until it is full", Kind: Counts,
		Only: "flood",
		New: func(q Quota) Limiter {
			return newWeir(weir.TokenBucket{Limit: q.Limit, Per: q.Per}, weir.WithStore(&weir.MemStore{MaxKeys: 100_000}))
		},
	},
}

// Leader is the contender that all others are compared with.
const Leader = "weir/TokenBucket"

// AllOfFive is the contender that asks five policies at once.
const AllOfFive = "weir/All of five"

func newWeir(p weir.Policy, opts ...weir.Option) Limiter { return must(weir.New(p, opts...)) }
