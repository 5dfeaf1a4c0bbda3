package weir

import "encoding"

// AnyPolicy holds a policy of any kind. Use it where text is decoded: in a struct for a
// configuration file, in a flag, or in an environment variable. The text is that of [ParsePolicy].
// If only one kind is allowed, use that kind instead: a [TokenBucket] also decodes from text, and
// refuses other kinds.
//
// For a flag:
//
//	limit := weir.AnyPolicy{Policy: weir.TokenBucket{Limit: 100, Per: time.Minute}}
//	flag.TextVar(&limit, "limit", limit, "requests of a client")
//
// The zero AnyPolicy holds no policy. Its text is empty, and [New] refuses its nil Policy. A
// pointer to a policy has the text of that policy. A nil pointer has the empty text.
type AnyPolicy struct{ Policy Policy }

var (
	_ encoding.TextMarshaler   = AnyPolicy{}
	_ encoding.TextUnmarshaler = (*AnyPolicy)(nil)
)

// String returns the text form of a.Policy.
func (a AnyPolicy) String() string {
	if nilPolicy(a.Policy) {
		return ""
	}
	return policyText(a.Policy)
}

// MarshalText implements [encoding.TextMarshaler]. It fails in these cases:
//
//   - [New] refuses a.Policy.
//   - a.Policy or a part of it has no text form, because it is not of this package.
//   - [ParsePolicy] would refuse the text: a policy lies within more than 8 others, or the text is
//     longer than 4096 bytes.
func (a AnyPolicy) MarshalText() ([]byte, error) {
	if nilPolicy(a.Policy) {
		return nil, nil
	}
	return marshalPolicy(a.Policy)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An empty text is no policy. The error is
// that of [ParsePolicy]. After an error, a is unchanged.
func (a *AnyPolicy) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		a.Policy = nil
		return nil
	}
	return unmarshalPolicy(text, &a.Policy)
}

// String returns the text form of p, which [ParsePolicy] describes.
func (p TokenBucket) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p TokenBucket) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and
// texts that [ParsePolicy] refuses. After an error, p is unchanged.
func (p *TokenBucket) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p LeakyBucket) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p LeakyBucket) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and
// texts that [ParsePolicy] refuses. After an error, p is unchanged.
func (p *LeakyBucket) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p FixedWindow) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p FixedWindow) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and
// texts that [ParsePolicy] refuses. After an error, p is unchanged.
func (p *FixedWindow) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p SlidingWindow) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p SlidingWindow) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and
// texts that [ParsePolicy] refuses. After an error, p is unchanged.
func (p *SlidingWindow) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p SlidingLog) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p SlidingLog) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and
// texts that [ParsePolicy] refuses. After an error, p is unchanged.
func (p *SlidingLog) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p CalendarWindow) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p CalendarWindow) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and
// texts that [ParsePolicy] refuses. After an error, p is unchanged.
func (p *CalendarWindow) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p all) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p all) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p tiers) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p tiers) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p SingleRateMarker) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p SingleRateMarker) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and
// texts that [ParsePolicy] refuses. After an error, p is unchanged.
func (p *SingleRateMarker) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p TwoRateMarker) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p TwoRateMarker) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and
// texts that [ParsePolicy] refuses. After an error, p is unchanged.
func (p *TwoRateMarker) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }
