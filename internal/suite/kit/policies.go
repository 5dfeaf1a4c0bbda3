package kit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // the suites need no zones on the machine

	"github.com/weir-go/weir"
)

// AllPolicies are the policies of the five algorithms with one limit, in all their forms.
// MorePolicies are the others.
func AllPolicies(limit int, per time.Duration) []weir.Policy {
	return []weir.Policy{
		weir.TokenBucket{Limit: limit, Per: per},
		weir.LeakyBucket{Limit: limit, Per: per},
		weir.FixedWindow{Limit: limit, Per: per},
		weir.FixedWindow{Limit: limit, Per: per, FromFirst: true},
		weir.SlidingWindow{Limit: limit, Per: per},
		weir.SlidingWindow{Limit: limit, Per: per, Buckets: 5},
		weir.SlidingLog{Limit: limit, Per: per},
	}
}

// MorePolicies returns policies that count by the calendar, are composed of others, or mark. They
// fit in the tables of simpler policies: each grants limit events at one instant, in total.
func MorePolicies(limit int, per time.Duration) []weir.Policy {
	unit := weir.Minute
	if per >= time.Hour {
		unit = weir.Hour
	}
	bucket, log := weir.TokenBucket{Limit: limit, Per: per}, weir.SlidingLog{Limit: limit, Per: per}
	half, rest := bucket, weir.SlidingLog{Limit: limit / 2, Per: per}
	half.Burst = limit - rest.Limit
	return []weir.Policy{
		weir.CalendarWindow{Limit: limit, Unit: unit},
		weir.CalendarWindow{Limit: limit, Unit: unit, Location: "Australia/Lord_Howe"},
		weir.All(bucket, weir.FixedWindow{Limit: 2 * limit, Per: 2 * per}, log),
		weir.All(weir.CalendarWindow{Limit: limit, Unit: unit}, bucket),
		weir.Tiers(half, rest),
		weir.SingleRateMarker{Committed: half, Excess: rest.Limit},
		weir.TwoRateMarker{Committed: half, Peak: bucket},
	}
}

// EveryPolicy is one of each of the five algorithms, and of each way to keep a state: in one word,
// in several, growing.
var EveryPolicy = []weir.Policy{
	weir.TokenBucket{Limit: 5, Per: time.Second},
	weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 5},
	weir.LeakyBucket{Limit: 5, Per: time.Second},
	weir.LeakyBucket{Limit: 7, Per: time.Second},
	weir.FixedWindow{Limit: 5, Per: time.Second},
	weir.FixedWindow{Limit: 1_000_000_000, Per: time.Microsecond},
	weir.FixedWindow{Limit: 5, Per: time.Second, FromFirst: true},
	weir.SlidingWindow{Limit: 5, Per: time.Second},
	weir.SlidingWindow{Limit: 5, Per: time.Second, Buckets: 10},
	weir.SlidingLog{Limit: 5, Per: time.Second},
}

// EachPolicy runs a test of every one of AllPolicies, once with events of whole nanoseconds and
// once with fractions.
func EachPolicy(t *testing.T, test func(t *testing.T, p weir.Policy)) {
	for _, p := range append(AllPolicies(10, 10*time.Second), AllPolicies(7, time.Second)...) {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) { test(t, p) })
	}
}

// EachKind is EachPolicy, with MorePolicies.
func EachKind(t *testing.T, test func(t *testing.T, p weir.Policy)) {
	EachPolicy(t, test)
	for _, p := range append(MorePolicies(10, 10*time.Second), MorePolicies(7, time.Second)...) {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) { test(t, p) })
	}
}

// EachInBubble runs a test of every policy in a testing/synctest bubble, where a mock clock's
// pauses take no time.
func EachInBubble(t *testing.T, policies []weir.Policy, test func(t *testing.T, p weir.Policy)) {
	for _, p := range policies {
		t.Run(fmt.Sprintf("%T%+v", p, p), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, p) })
		})
	}
}

// IsBucket reports whether the policy can book ahead.
func IsBucket(p weir.Policy) bool {
	switch p.(type) {
	case weir.TokenBucket, weir.LeakyBucket:
		return true
	}
	return false
}
