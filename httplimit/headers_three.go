package httplimit

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/weir-go/weir"
)

// Here are the kinds with three fields: the limit, what remains, and when it is reset.

// LegacyRateLimit writes the fields of draft-ietf-httpapi-ratelimit-headers up to revision 06,
// which many clients know:
//
//	RateLimit-Limit: 100
//	RateLimit-Remaining: 50
//	RateLimit-Reset: 1
//
// If several limits apply to a request, the fields are those of one limit:
//
//   - In an allowed answer: the limit with the smallest Remaining. If several have the same
//     Remaining, the one with the longest effective window. If several Middlewares write the
//     fields, the answer has those of the innermost.
//   - In a denied answer: the limit that denied the request, or the one with the longest RetryAfter
//     if several did. The fields are absent if the Middleware of that limit does not write them.
type LegacyRateLimit struct{}

// XRateLimit writes the fields that GitHub and others use. X-RateLimit-Reset is the end of the
// effective window (see [Headers]), as a Unix time by the system's clock:
//
//	X-RateLimit-Limit: 100
//	X-RateLimit-Remaining: 50
//	X-RateLimit-Reset: 1767225630
//
// If several limits apply to a request, the fields are those of the same limit as with
// [LegacyRateLimit].
type XRateLimit struct{}

// OwnFields writes the values of [LegacyRateLimit] in fields of other names. All three names are
// required. If nested Middlewares use the same names, the fields are those of the innermost. If the
// innermost does not use the names, the fields of an outer one stay, even if the innermost denies
// the request.
type OwnFields struct {
	Limit, Remaining, Reset string

	// ResetIsUnixTime makes the field Reset a Unix time, as in [XRateLimit], and not a number of
	// seconds from now.
	ResetIsUnixTime bool
}

// threeFields writes one field each for the limit, what remains, and the reset.
type threeFields struct {
	limit, remaining, reset string
	reset64                 func(window time.Duration) int64
}

func (LegacyRateLimit) addTo(to *fields) error {
	return OwnFields{Limit: "RateLimit-Limit", Remaining: "RateLimit-Remaining", Reset: "RateLimit-Reset"}.addTo(to)
}

func (XRateLimit) addTo(to *fields) error {
	return OwnFields{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", true}.addTo(to)
}

func (f OwnFields) addTo(to *fields) error {
	three := &threeFields{reset64: seconds}
	if f.ResetIsUnixTime {
		three.reset64 = unixAfter
	}
	var errs []error
	for _, field := range []struct {
		name, value string
		to          *string
	}{
		{"Limit", f.Limit, &three.limit}, {"Remaining", f.Remaining, &three.remaining}, {"Reset", f.Reset, &three.reset},
	} {
		if !isToken(field.value) {
			errs = append(errs, fmt.Errorf("weir: OwnFields.%s is %q, must be the name of a header field", field.name, field.value))
		}
		*field.to = http.CanonicalHeaderKey(field.value)
	}
	to.three = append(to.three, three)
	return errors.Join(errs...)
}

// isToken reports whether s is a token of HTTP, as the names of fields are.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// unixAfter returns the first whole second, in Unix time, at which d has passed.
func unixAfter(d time.Duration) int64 {
	now := time.Now().UnixNano()
	return seconds(time.Duration(now + min(int64(d), math.MaxInt64-now)))
}

// set writes the fields. One text holds all three values.
func (f *threeFields) set(h http.Header, res *weir.Result) {
	slots, b := newFieldValues(3, len("100000000"+"100000000"+"1790000000"))
	b = appendInt(b, int64(res.Limit))
	i := len(b)
	b = appendInt(b, int64(res.Remaining))
	j := len(b)
	all := textOf(appendInt(b, f.reset64(effectiveWindow(res))))
	slots[0], slots[1], slots[2] = all[:i], all[i:j], all[j:]
	h[f.limit] = slots[0:1:1]
	h[f.remaining] = slots[1:2:2]
	h[f.reset] = slots[2:3:3]
}
