package main

import "github.com/weir-go/weir"

// policyNames are those of -policy, in the order in which charts are drawn.
var policyNames = []string{"token-bucket", "leaky-bucket", "fixed-window", "sliding-window", "sliding-log"}

// policy is the policy of that name, as the flags set it.
func (o *options) policy(name string) weir.Policy {
	switch name {
	case "token-bucket":
		return weir.TokenBucket{Limit: o.rate, Per: o.per, Burst: o.burst}
	case "leaky-bucket":
		return weir.LeakyBucket{Limit: o.rate, Per: o.per}
	case "fixed-window":
		return weir.FixedWindow{Limit: o.rate, Per: o.per, FromFirst: o.fromFirst}
	case "sliding-window":
		return weir.SlidingWindow{Limit: o.rate, Per: o.per, Buckets: o.buckets}
	case "sliding-log":
		return weir.SlidingLog{Limit: o.rate, Per: o.per}
	}
	panic("no policy is named " + name)
}
