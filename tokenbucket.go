package weir

import (
	"time"

	"github.com/weir-go/weir/internal/text"
)

// TokenBucket allows Limit events per Per on average, and Burst of them at once.
//
// A key has a bucket that holds at most Burst tokens and starts full. It earns Limit tokens per
// Per, continuously. An event takes one token. If there are too few tokens, [KeyedLimiter.Take] is
// denied. [KeyedLimiter.Wait] and [KeyedLimiter.Reserve] can take tokens that are not yet earned.
// Later calls cannot take these.
//
// Start with this policy: it tolerates bursts, and has no window boundary. To space events evenly,
// use [LeakyBucket]. For "no more than Limit in any Per", use [SlidingLog].
//
// If no events are given back, the key is not in debt and the policy stays the same, a span of
// length s has at most
//
//	Burst - 1 + Limit*s/Per
//
// events, rounded up. The span includes its start, not its end.
//
// The state of a key takes one word of 8 bytes. It takes two words if Per is not a multiple of
// Limit nanoseconds, or if a bucket needs 146 years (2^62 ns) or more to fill.
//
// The token bucket goes back to J. Turner, "New Directions in Communications", 1986. This form is
// the virtual scheduling algorithm of ITU-T I.371, known as GCRA, on exact fractions. The state is
// the instant at which the bucket will be full.
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

// String returns the text form of p, such as "100/1m" or "token-bucket 100/1m burst=20".
func (p TokenBucket) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p TokenBucket) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy.
func (p *TokenBucket) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p *TokenBucket) form() text.Form {
	return text.Rate(&p.Limit, text.Duration(&p.Per), text.Count("burst", &p.Burst))
}

func (p TokenBucket) bucket() bucket { return newBucket(p.Limit, p.Per, p.Burst) }
