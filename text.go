package weir

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/weir-go/weir/internal/text"
)

// ParsePolicy returns the policy that s describes:
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
// The String and MarshalText methods of the policies of this package write this form. MarshalText
// writes only a text that ParsePolicy reads as the same policy. The UnmarshalText methods read this
// form. After an error, the policy is unchanged. The grammar is:
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
//   - The options of a kind are named after the fields that they set. They can be in any order,
//     each at most once. The count of an option is at least 1. For the default, leave the option
//     out.
//   - A day is 24 hours and a week is 7 days, whatever the calendar says. If anything follows the w
//     or d, it begins with a digit.
//   - The 1 of one unit may be left out: 10/s is 10/1s.
//   - A text has at most 4096 bytes, and each policy lies within at most 8 others. Above that,
//     MarshalText fails.
//
// An error is one line. It says what is allowed and, unless the text is too long, at which byte the
// fault is. ParsePolicy also returns an error for a policy that [New] refuses.
func ParsePolicy(s string) (Policy, error) {
	var p Policy
	if err := text.Read(s, func(r *text.Reader) { p = readPolicy(r) }); err != nil {
		return nil, fmt.Errorf("weir: policy %w", err)
	}
	return p, nil
}

// AnyPolicy holds a policy of any kind. Use it where text is decoded: in a struct for a
// configuration file, in a flag, or in an environment variable. The text has the form that
// [ParsePolicy] reads. If only one kind is allowed, use the type of that kind instead: a
// [TokenBucket] also decodes from text, and refuses other kinds.
//
// For a flag:
//
//	limit := weir.AnyPolicy{Policy: weir.TokenBucket{Limit: 100, Per: time.Minute}}
//	flag.TextVar(&limit, "limit", limit, "requests of a client")
//
// The zero AnyPolicy holds no policy. Its text is empty, and [New] refuses its nil Policy. If
// Policy is a pointer, the text describes the policy behind it.
type AnyPolicy struct{ Policy Policy }

var (
	_ encoding.TextMarshaler   = AnyPolicy{}
	_ encoding.TextUnmarshaler = (*AnyPolicy)(nil)
)

// String returns the text form of a.Policy. It is empty if a.Policy is nil or a nil pointer. For a
// policy of another package, String returns the name of its type, which [ParsePolicy] refuses.
func (a AnyPolicy) String() string {
	if isNil(a.Policy) {
		return ""
	}
	return policyText(a.Policy)
}

// MarshalText implements [encoding.TextMarshaler]. If a.Policy is nil or a nil pointer, the text is
// empty. MarshalText fails in these cases:
//
//   - [New] refuses a.Policy.
//   - a.Policy or a component of it has no text form, because it is not of this package.
//   - [ParsePolicy] would refuse the text: a policy lies within more than 8 others, or the text is
//     longer than 4096 bytes.
func (a AnyPolicy) MarshalText() ([]byte, error) {
	if isNil(a.Policy) {
		return nil, nil
	}
	return marshalPolicy(a.Policy)
}

// UnmarshalText implements [encoding.TextUnmarshaler]. With an empty text, Policy becomes nil.
// Errors are those of [ParsePolicy]. After an error, a is unchanged.
func (a *AnyPolicy) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		a.Policy = nil
		return nil
	}
	return unmarshalPolicy(text, &a.Policy)
}

// textKinds are the policies that have a text form, with their names in it. The first needs no name
// before a rate without options.
var textKinds = [...]struct {
	name   string
	policy textual // which points to a zero one
}{
	{"token-bucket", &TokenBucket{}},
	{"leaky-bucket", &LeakyBucket{}},
	{"fixed-window", &FixedWindow{}},
	{"sliding-window", &SlidingWindow{}},
	{"sliding-log", &SlidingLog{}},
	{"calendar-window", &CalendarWindow{}},
	{"all", &all{}},
	{"tiers", &tiers{}},
	{"single-rate-marker", &SingleRateMarker{}},
	{"two-rate-marker", &TwoRateMarker{}},
}

// A textual policy has a text form. A policy of another package may embed one of these, and then
// has its method, too. It still is of no kind: see kindOf.
type textual interface {
	Policy

	// form returns the form of what follows the name. To read the form sets the policy's fields.
	form() text.Form
}

// readPolicy reads a policy that New does not refuse.
func readPolicy(r *text.Reader) Policy {
	start := r.At()
	var names [len(textKinds)]string
	for i, k := range textKinds {
		names[i] = k.name
	}
	kind := r.Kind(names[:])
	if kind < 0 {
		return nil
	}
	v := reflect.New(reflect.TypeOf(textKinds[kind].policy).Elem())
	v.Interface().(textual).form().Read(r)
	p := v.Elem().Interface().(Policy)
	if _, err := p.Decider(); err != nil { // r keeps its own error, if it has one
		faults := strings.TrimPrefix(err.Error(), "weir: ")
		r.FailFrom(start, strings.ReplaceAll(faults, "\nweir: ", "; "))
	}
	return p
}

// policyText returns the text form of p. For a policy of another package it is the name of the
// type, which ParsePolicy refuses.
func policyText(p Policy) string {
	value, kind := kindOf(p)
	if kind < 0 {
		return fmt.Sprintf("%T", p)
	}
	v := reflect.New(reflect.TypeOf(value))
	v.Elem().Set(reflect.ValueOf(value))
	s := v.Interface().(textual).form().String()
	if rate := strings.TrimPrefix(s, " "); kind == 0 && !strings.Contains(rate, " ") {
		return rate
	}
	return textKinds[kind].name + s
}

// kindOf returns p, or what it points to, and its index in textKinds. For a policy of another
// package it returns p and -1.
func kindOf(p Policy) (value Policy, kind int) {
	v := reflect.ValueOf(p)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	for i, k := range textKinds {
		if v.IsValid() && v.Type() == reflect.TypeOf(k.policy).Elem() {
			return v.Interface().(Policy), i
		}
	}
	return p, -1
}

// valueOf returns p, or a copy of what it points to if that is of this package. A policy whose
// pointer was kept could change: it would be taken for the policy that it was before.
func valueOf(p Policy) Policy {
	p, _ = kindOf(p)
	return p
}

// listForm is the form of a policy of others. set is that of [text.List].
func listForm(parts []Policy, set func([]Policy) (must string)) text.Form {
	return text.List[Policy]{Parts: parts, Text: policyText, Parse: readPolicy, Set: set}
}

// marshalPolicy returns a text only if ParsePolicy reads it as the same policy.
func marshalPolicy(p Policy) ([]byte, error) {
	s := policyText(p)
	parsed, err := ParsePolicy(s)
	if err != nil {
		return nil, err
	}
	if !saySame(p, parsed) {
		return nil, fmt.Errorf("weir: %T has no text form, since %q says another policy", p, s)
	}
	return []byte(s), nil
}

// unmarshalPolicy sets *into to the policy that a text describes, if it is of that type.
func unmarshalPolicy[P Policy](text []byte, into *P) error {
	parsed, err := ParsePolicy(string(text))
	if err != nil {
		return err
	}
	p, ok := parsed.(P)
	if !ok {
		return fmt.Errorf("weir: policy %q is a %T, must be a %T", text, parsed, *into)
	}
	*into = p
	return nil
}
