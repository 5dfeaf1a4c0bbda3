package weir

import "time"

// TokenBucket allows Limit events per Per on average, and Burst of them at once.
//
// A key has a bucket that holds Burst tokens and starts full. It earns Limit tokens per Per,
// continuously, and never holds more than Burst. An event takes one token; where there are too few,
// it is denied. [Keyed.Wait] takes tokens that are yet to be earned, and so holds its place against
// later calls.
//
// It is the one to start with: it tolerates bursts, has no boundaries in time, and costs a single
// word of memory per key, or two where Per is not a multiple of Limit nanoseconds, or a full bucket takes
// 146 years (2^62 ns) or more to earn. In the worst case a span of length s, with both of its ends, sees
// Burst + Limit*s/Per events. To space events evenly, use [LeakyBucket]; for "no more than Limit in any
// Per", [SlidingLog].
//
// The token bucket goes back to J. Turner, "New Directions in Communications",
// 1986. The form here is the virtual scheduling algorithm of ITU-T I.371, known as GCRA, on exact
// fractions: the state is the instant at which the bucket will be full.
type TokenBucket struct {
	Limit int           // tokens earned per Per; at least 1
	Per   time.Duration // at least 1ns
	Burst int           // tokens that the bucket holds; 0 means Limit
}

// Decider implements [Policy].
func (p TokenBucket) Decider() (Decider, error) {
	f := faults{policy: p}
	f.rate(p.Limit, p.Per)
	f.atLeastZero("Burst", p.Burst)
	if err := f.err(); err != nil {
		return nil, err
	}
	return p.bucket().decider(), nil
}

func (p TokenBucket) bucket() bucket { return newBucket(p.Limit, p.Per, p.Burst) }
