package weir

import (
	"encoding"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

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

// policyText is the text form of p. textKinds reads what stands here. A policy of another package
// gives the name of its type, which ParsePolicy refuses, even if it has the methods of one of these embedded.
func policyText(p Policy) string {
	switch p := pointedTo(p).(type) {
	case TokenBucket:
		if p.Burst == 0 {
			return rateText(p.Limit, p.Per)
		}
		return "token-bucket " + rateText(p.Limit, p.Per) + countText(" burst=", p.Burst)
	case LeakyBucket:
		return "leaky-bucket " + rateText(p.Limit, p.Per) + countText(" capacity=", p.Capacity)
	case FixedWindow:
		return "fixed-window " + rateText(p.Limit, p.Per) + wordText(" from-first", p.FromFirst)
	case SlidingWindow:
		return "sliding-window " + rateText(p.Limit, p.Per) + countText(" buckets=", p.Buckets)
	case SlidingLog:
		return "sliding-log " + rateText(p.Limit, p.Per)
	case CalendarWindow, all, tiers, SingleRateMarker, TwoRateMarker:
		return p.(interface{ text() string }).text()
	default:
		return fmt.Sprintf("%T", p)
	}
}

// partsText is the text of the parts of a composed policy, to stand after the name of its kind.
func partsText(parts []Policy) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = policyText(p)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

func rateText(limit int, per time.Duration) string {
	return strconv.Itoa(limit) + "/" + perText(per)
}

// perUnits are the units of a duration, the longest first. The first two are those that package time
// does not have.
var perUnits = [...]struct {
	name   string
	length time.Duration
}{
	{"w", 7 * 24 * time.Hour},
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
	{"us", time.Microsecond},
}

// perText is d in the largest unit in which it is a whole number.
func perText(d time.Duration) string {
	for _, u := range perUnits {
		if d != 0 && d%u.length == 0 {
			return strconv.FormatInt(int64(d/u.length), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

// parsePer reads a duration as time.ParseDuration does, with weeks and days before its units. A unit
// alone is one of it.
func parsePer(s string) (time.Duration, bool) {
	if s != "" && !strings.ContainsRune("0123456789.+-", rune(s[0])) {
		s = "1" + s
	}
	var total time.Duration
	for _, u := range perUnits[:2] {
		digits, rest, ok := strings.Cut(s, u.name)
		if !ok {
			continue
		}
		n, ok := parseCount(digits)
		if !ok || int64(n) > int64((math.MaxInt64-total)/u.length) {
			return 0, false
		}
		if total += time.Duration(n) * u.length; rest == "" {
			return total, true
		}
		if rest[0] < '0' || rest[0] > '9' {
			return 0, false
		}
		s = rest
	}
	d, err := time.ParseDuration(s)
	if err != nil || d > math.MaxInt64-total {
		return 0, false
	}
	return total + d, true
}

func countText(option string, n int) string {
	return wordText(option+strconv.Itoa(n), n != 0)
}

func wordText(word string, set bool) string {
	if !set {
		return ""
	}
	return word
}
