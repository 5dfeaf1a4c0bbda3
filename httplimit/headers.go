package httplimit

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// Headers are the fields of an answer with the limit and its state: [RateLimit], [LegacyRateLimit],
// [XRateLimit], [OwnFields], or several of them in a [HeaderSet]. No other package can implement it.
//
// All types write the same three values: the limit, how much of it remains, and the effective
// window. The effective window depends on the answer:
//
//   - Allowed: the time until more events remain, if no more requests come. A client that uses at
//     most the remaining events in that time gets no denial, and no less than the limit.
//   - Denied: the time of Retry-After, after which the same request will be granted.
//
// It is rounded up to whole seconds. A Limiter that is not a *[weir.KeyedLimiter], and has no
// TakeByComponent method either, may not tell when more events remain. The same holds for some
// stores of package fleet. The effective window of an allowed request is then the time until the
// whole allowance is back. A client that waits for it may get less than the limit.
type Headers interface {
	fields() (fields, error)
}

// fields writes the fields of a Headers. Wrap prepares it.
type fields interface {
	// set writes the fields. parts are the results of the policy's parts, if partNames is not nil.
	set(h http.Header, res weir.Result, parts []weir.Result)
	name() string        // the policy's name, or "" if the fields have none
	partNames() []string // the names of the parts, if the fields list them
}

// whole is for fields that do not list the parts of a policy.
type whole struct{}

func (whole) partNames() []string { return nil }

// RateLimit writes the fields of draft-ietf-httpapi-ratelimit-headers-11:
//
//	RateLimit-Policy: "default";q=100;w=60
//	RateLimit: "default";r=50;t=1
//
// The parameters are:
//
//   - q: the Limit of the [weir.Result]
//   - r: its Remaining
//   - t: the effective window
//   - w: the time in which the whole of q comes back, rounded up to whole seconds
//
// For windows, w is Per. For a [weir.TokenBucket] it is the time in which Burst tokens are earned.
// For a [weir.CalendarWindow] it is the length of the longest unit of its kind, such as a month of
// 31 days or a year of 366 days. A client that spreads q events over w is then never too fast. A
// day counts as 24 hours, although a day on which clocks are put back is longer.
//
// If several limits apply to a request, one handler in another, each adds its own members to the
// fields. In a denied answer, the field RateLimit has only the limit that denied the request.
//
// The components of a Policy composed by [weir.All] are listed in the same way. This requires a
// Limiter that is a *[weir.KeyedLimiter] or has its TakeByComponent method. The name of a component
// is its text, after Name if that is not empty. Tiers are one limit, because a client need not keep
// to each of them.
//
//	RateLimit-Policy: "300/1m";q=300;w=60, "15750/1h";q=15750;w=3600
//	RateLimit: "300/1m";r=299;t=1, "15750/1h";r=15749;t=1
type RateLimit struct {
	Name   string      // printable ASCII; "" means "default"
	Policy weir.Policy // the limiter's policy, for w and the components; leave nil if policies differ by key or change
}

// sfMaxInteger is the largest Integer of Structured Fields (RFC 9651).
const sfMaxInteger = 999_999_999_999_999

// appendInt appends n, or the nearest number that is allowed in a field.
func appendInt(b []byte, n int64) []byte {
	return strconv.AppendInt(b, min(max(n, 0), sfMaxInteger), 10)
}

// rateLimit is a prepared RateLimit.
type rateLimit struct {
	whole
	plain  string // the name as the user gave it
	quoted string // as an sf-string
	window string // ";w=60" or ""
	latest atomic.Pointer[policyField]
}

// A policyField is the value of RateLimit-Policy for one Limit.
type policyField struct {
	quota int
	value string
}

func (f RateLimit) fields() (fields, error) {
	name := f.Name
	if name == "" {
		name = "default"
	}
	if parts := together(f.Policy); len(parts) > 0 {
		return f.composed(name, parts)
	}
	return newRateLimit(name, f.Policy)
}

// newRateLimit prepares the fields of one policy.
func newRateLimit(name string, policy weir.Policy) (*rateLimit, error) {
	quoted := []byte{'"'}
	for i := range len(name) {
		c := name[i]
		if c < ' ' || c > '~' {
			return nil, fmt.Errorf("weir: RateLimit.Name is %q, must be printable ASCII", name)
		}
		if c == '"' || c == '\\' {
			quoted = append(quoted, '\\')
		}
		quoted = append(quoted, c)
	}
	p := &rateLimit{plain: name, quoted: string(append(quoted, '"'))}
	quota := 0
	if policy = pointedTo(policy); policy != nil {
		var window time.Duration
		var err error
		if quota, window, err = fullQuota(policy); err != nil {
			return nil, fmt.Errorf("weir: RateLimit.Policy: %w", err)
		}
		p.window = string(appendInt([]byte(";w="), max(seconds(window), 1)))
	}
	p.policy(quota)
	return p, nil
}

func (f *rateLimit) name() string { return f.plain }

// policy returns the value of RateLimit-Policy. It keeps the latest, because most requests have the
// same quota.
func (f *rateLimit) policy(quota int) string {
	if latest := f.latest.Load(); latest != nil && latest.quota == quota {
		return latest.value
	}
	p := &policyField{quota, string(appendInt([]byte(f.quoted+";q="), int64(quota))) + f.window}
	f.latest.Store(p)
	return p.value
}

// appendLimit appends the member of RateLimit for a result.
func (f *rateLimit) appendLimit(b []byte, res weir.Result) []byte {
	b = append(b, f.quoted...)
	b = appendInt(append(b, ";r="...), int64(res.Remaining))
	return appendInt(append(b, ";t="...), seconds(effectiveWindow(res)))
}

// The names of the fields, in the canonical form of http.Header.
const (
	rateLimitField       = "Ratelimit"
	rateLimitPolicyField = "Ratelimit-Policy"
)

// set allocates twice: the value that changes, and the slots of both values.
func (f *rateLimit) set(h http.Header, res weir.Result, _ []weir.Result) {
	var buf [128]byte
	values := []string{f.policy(res.Limit), string(f.appendLimit(buf[:0], res))}
	if len(h) == 0 { // the usual case: there is no list to add to
		h[rateLimitPolicyField], h[rateLimitField] = values[0:1:1], values[1:2:2]
		return
	}
	put(h, rateLimitPolicyField, values[0:1:1])
	put(h, rateLimitField, values[1:2:2])
}

// put adds the value to the list that h may already have under name.
func put(h http.Header, name string, value []string) {
	if before := h[name]; len(before) > 0 {
		value = append(before[:len(before):len(before)], value...)
	}
	h[name] = value
}
