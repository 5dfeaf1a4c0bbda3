package storetest

import (
	"math"
	"time"

	"github.com/weir-go/weir"
)

// A named policy is a policy that has its own subtest.
type named struct {
	name string
	weir.Policy
}

const withBurst = "TokenBucket with Burst"

// shapes are the policies of package weir, with every form of their states: one word, two words,
// several words, and a number that changes. All of them grant limit events at once. per must be a
// multiple of 5 ns, and of limit ns.
func shapes(limit int, per time.Duration) []named {
	return []named{
		{"TokenBucket in a word", weir.TokenBucket{Limit: limit, Per: per}},
		{"TokenBucket in two words", weir.TokenBucket{Limit: limit, Per: per + 1}},
		{withBurst, weir.TokenBucket{Limit: 3, Per: per, Burst: limit}},
		{"LeakyBucket in a word", weir.LeakyBucket{Limit: limit, Per: per}},
		{"LeakyBucket in two words", weir.LeakyBucket{Limit: limit, Per: per + 1}},
		{"FixedWindow", weir.FixedWindow{Limit: limit, Per: per}},
		{"FixedWindow FromFirst", weir.FixedWindow{Limit: limit, Per: per, FromFirst: true}},
		{"SlidingWindow", weir.SlidingWindow{Limit: limit, Per: per}},
		{"SlidingWindow with Buckets", weir.SlidingWindow{Limit: limit, Per: per, Buckets: 5}},
		{"SlidingLog", weir.SlidingLog{Limit: limit, Per: per}},
	}
}

// every returns the policies of shapes and of unscripted. unscripted documents what they grant.
func every(limit int, per time.Duration) []named {
	return append(shapes(limit, per), unscripted(limit, per)...)
}

// extremes are policies with the smallest and largest values that New accepts.
func extremes() []named {
	const most, ever = math.MaxInt, math.MaxInt64
	return []named{
		{"TokenBucket, most", weir.TokenBucket{Limit: most, Per: time.Hour}},
		{"TokenBucket, fastest", weir.TokenBucket{Limit: most, Per: 1}},
		{"TokenBucket, slowest", weir.TokenBucket{Limit: 1, Per: ever, Burst: most}},
		{"TokenBucket, odd", weir.TokenBucket{Limit: most, Per: ever - 1, Burst: most}},
		{"LeakyBucket, most", weir.LeakyBucket{Limit: most, Per: ever - 1}},
		{"LeakyBucket, slowest", weir.LeakyBucket{Limit: 1, Per: ever, Capacity: most}},
		{"FixedWindow, most", weir.FixedWindow{Limit: most, Per: time.Second}},
		{"FixedWindow, longest", weir.FixedWindow{Limit: most, Per: ever}},
		{"FixedWindow, shortest", weir.FixedWindow{Limit: most, Per: 1}},
		{"FixedWindow FromFirst, longest", weir.FixedWindow{Limit: most, Per: ever, FromFirst: true}},
		{"SlidingWindow, most", weir.SlidingWindow{Limit: most, Per: time.Second}},
		{"SlidingWindow, longest", weir.SlidingWindow{Limit: most, Per: ever}},
		{"SlidingWindow, buckets", weir.SlidingWindow{Limit: most, Per: 1_000_000, Buckets: 1000}},
		{"SlidingLog, most", weir.SlidingLog{Limit: most, Per: time.Second}},
		{"SlidingLog, longest", weir.SlidingLog{Limit: most, Per: ever}},
	}
}
