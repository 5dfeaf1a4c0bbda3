package httplimit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"slices"
	"sync/atomic"
	"unsafe"
)

// Headers are the fields of an answer with the limit and its state: [RateLimit], [LegacyRateLimit],
// [XRateLimit], [OwnFields], or several of them in a [HeaderSet]. No other package can implement
// it.
//
// All types write the same three values: the limit, how much of it remains, and the effective
// window. The effective window depends on the answer:
//
//   - Allowed: the time until more events remain, if no more requests come. A client that uses at
//     most the remaining events in that time is not denied. If it uses all of them, it gets the
//     whole limit.
//   - Denied: the time of Retry-After, after which the same request will be granted.
//
// The effective window is rounded up to whole seconds. A Limiter that is not a
// *[weir.KeyedLimiter], and has no TakeByComponent method either, may not report when more events
// remain. The same holds for some stores of package fleet. The effective window of an allowed
// request is then the time until the whole allowance is back. A client that waits for it may get
// less than the limit.
type Headers interface {
	// addTo adds the fields to those of an answer. The kinds of fields are in headers_ratelimit.go
	// and headers_legacy.go.
	addTo(*fields) error
}

// A HeaderSet writes the fields of all its Headers. The request is counted once.
type HeaderSet []Headers

func (s HeaderSet) addTo(to *fields) error {
	var errs []error
	for i, h := range s {
		if h == nil {
			errs = append(errs, fmt.Errorf("weir: HeaderSet[%d] is nil, must be Headers", i))
			continue
		}
		errs = append(errs, h.addTo(to))
	}
	return errors.Join(errs...)
}

// fields are prepared Headers.
type fields struct {
	current *RateLimit
	three   []*threeFields
	latest  atomic.Pointer[policyList]
}

// any reports whether there are fields to write.
func (f *fields) any() bool { return f.current != nil || len(f.three) > 0 }

// set writes the fields. The fields of RateLimit list all limits. The others have the values of the
// decisive limit. With replace, a member that an earlier Check of the same limit has written is
// replaced.
func (f *fields) set(h http.Header, all []asked, decisive int, replace bool) {
	if f.current != nil {
		f.setRateLimit(h, all, decisive, replace)
	}
	for _, three := range f.three {
		three.set(h, &all[decisive].d.Result)
	}
}

// sfMaxInteger is the largest Integer of Structured Fields (RFC 9651).
const sfMaxInteger = 999_999_999_999_999

// appendInt appends n, or the nearest number that is allowed in a field. strconv.AppendUint writes
// the digits elsewhere and copies them all at once, and the processor waits for the writes: the
// fields of three limits take 40 ns longer with it.
func appendInt(b []byte, n int64) []byte {
	rest := uint64(min(max(n, 0), sfMaxInteger))
	if rest < 10 { // as most times are, in a third of the time
		return append(b, '0'+byte(rest))
	}
	digits := 1 + bits.Len64(rest)*1233>>12 // or one too many: 1233/4096 is just above log10(2)
	if rest < powers[digits-1] {
		digits--
	}
	b = slices.Grow(b, digits)[:len(b)+digits]
	i := len(b) - 2
	for ; rest >= 100; rest /= 100 {
		binary.LittleEndian.PutUint16(b[i:], pairs[rest%100])
		i -= 2
	}
	if rest < 10 {
		b[i+1] = '0' + byte(rest)
	} else {
		binary.LittleEndian.PutUint16(b[i:], pairs[rest])
	}
	return b
}

// pairs are the two digits of the numbers below 100, the first in the low byte.
var pairs = func() (p [100]uint16) {
	for i := range p {
		p[i] = '0' + uint16(i/10) | ('0'+uint16(i%10))<<8
	}
	return p
}()

// powers are those of ten, up to the first that is larger than sfMaxInteger.
var powers = func() (p [16]uint64) {
	p[0] = 1
	for i := range p[1:] {
		p[i+1] = 10 * p[i]
	}
	return p
}()

// newFieldValues returns memory for the values of two or three fields, and for the text of the
// values that are made for this request: some n bytes. All is one allocation, and no larger than
// most requests need. A second one, or a text of 96 bytes for all, would make a request a tenth
// slower, and a third slot for the two fields of RateLimit a twentieth. A longer text needs another
// allocation.
func newFieldValues(slots, n int) ([]string, []byte) {
	switch {
	case slots > 2:
		v := new(struct {
			slots [3]string
			text  [32]byte
		})
		return v.slots[:], v.text[:0]
	case n <= 32:
		v := new(struct {
			slots [2]string
			text  [32]byte
		})
		return v.slots[:], v.text[:0]
	}
	v := new(struct {
		slots [2]string
		text  [96]byte
	})
	return v.slots[:], v.text[:0]
}

// textOf returns b as a string. After that, nothing may write to b.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
