package weir

import "encoding"

// AnyPolicy holds a policy of any kind where text is decoded: in a struct for a configuration file,
// in a flag, in an environment variable. The text is that of [ParsePolicy]. Where only one kind is
// allowed, use that in its place: a [TokenBucket] decodes from text too, and refuses other kinds.
//
// For a flag:
//
//	limit := weir.AnyPolicy{Policy: weir.TokenBucket{Limit: 100, Per: time.Minute}}
//	flag.TextVar(&limit, "limit", limit, "requests of a client")
//
// The zero AnyPolicy holds none. Its text is empty, and [New] refuses its nil Policy. A pointer to a policy has the
// text of what it points to, and a nil pointer the empty one.
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

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses a.Policy, if that or a part of it
// has no text form, because it is not of this package, and if [ParsePolicy] would refuse the text, because the
// policies lie within more than 8 others or the text is longer than 4096 bytes.
func (a AnyPolicy) MarshalText() ([]byte, error) {
	if nilPolicy(a.Policy) {
		return nil, nil
	}
	return marshalPolicy(a.Policy)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. The error is that of [ParsePolicy]; a is then
// left as it was. An empty text is no policy.
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

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
func (p *TokenBucket) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p LeakyBucket) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p LeakyBucket) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
func (p *LeakyBucket) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p FixedWindow) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p FixedWindow) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
func (p *FixedWindow) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p SlidingWindow) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p SlidingWindow) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
func (p *SlidingWindow) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p SlidingLog) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p SlidingLog) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
func (p *SlidingLog) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p CalendarWindow) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p CalendarWindow) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
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

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
func (p *SingleRateMarker) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p TwoRateMarker) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p TwoRateMarker) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
func (p *TwoRateMarker) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }
