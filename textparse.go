package weir

import (
	"fmt"
)

const (
	maxPolicyText  = 4096 // bytes that ParsePolicy reads
	maxPolicyDepth = 8    // policies within policies that it reads
)

// ParsePolicy returns the policy that text describes:
//
//	300/1m                          TokenBucket{Limit: 300, Per: time.Minute}
//	token-bucket 100/1m burst=20    TokenBucket{Limit: 100, Per: time.Minute, Burst: 20}
//	leaky-bucket 10/1s capacity=50  LeakyBucket{Limit: 10, Per: time.Second, Capacity: 50}
//	fixed-window 1000/1d            FixedWindow{Limit: 1000, Per: 24 * time.Hour}
//	fixed-window 1000/1h from-first FixedWindow{Limit: 1000, Per: time.Hour, FromFirst: true}
//	sliding-window 100/1m buckets=6 SlidingWindow{Limit: 100, Per: time.Minute, Buckets: 6}
//	sliding-log 5/1m                SlidingLog{Limit: 5, Per: time.Minute}
//	calendar-window 1000/month      CalendarWindow{Limit: 1000, Unit: Month}
//	all(300/1m, 15750/1h)           All(TokenBucket{Limit: 300, …}, TokenBucket{Limit: 15750, …})
//	tiers(300/1m, sliding-log 9/1h) Tiers(TokenBucket{Limit: 300, …}, SlidingLog{Limit: 9, …})
//
// The markers have the forms
//
//	single-rate-marker 10/s burst=20 excess=40
//	two-rate-marker(10/s, 20/s)
//
// The String and MarshalText methods of the policies write this form. MarshalText writes only a text
// that ParsePolicy reads as the same policy. The grammar is:
//
//	policy   = [ kind ] rate { option }         kind is one of those above; without it, token-bucket
//	           | ( "all" | "tiers" | "two-rate-marker" ) "(" policy { "," policy } ")"
//	rate     = count "/" ( duration | unit )    a unit such as month for a calendar-window
//	option   = "burst=" count | "capacity=" count | "buckets=" count | "from-first"
//	           | "location=" zone | "start=" digits | "excess=" count
//	duration = [ digits "w" ] [ digits "d" ] [ a duration as time.ParseDuration reads it ]
//	count    = digits
//
// Notes on the grammar:
//
//   - Words are separated by white space.
//   - The options of a kind are named after fields of its type. They can be in any order, each at most
//     once. The count of an option is at least 1. For the default, leave the option out.
//   - A day is 24 hours and a week is 7 days, whatever the calendar says.
//   - The 1 of one unit may be left out: 10/s is 10/1s.
//   - A text has at most 4096 bytes, and a policy in it lies within at most 8 others. Above that,
//     MarshalText fails.
//
// An error is one line, with the place in the text and what is allowed there. ParsePolicy also returns
// an error for a policy that [New] refuses, such as a composed policy with a new state of more than
// 100,002 words.
func ParsePolicy(text string) (Policy, error) {
	if len(text) > maxPolicyText {
		return nil, fmt.Errorf("weir: policy of %d bytes, must be at most %d", len(text), maxPolicyText)
	}
	r := textReader{text: text}
	r.next()
	p := r.policy()
	if r.word != "" {
		r.fail("the end")
	}
	if r.err != nil {
		return nil, r.err
	}
	return p, nil
}
