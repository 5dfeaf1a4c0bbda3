package httplimit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"sync/atomic"
	"unsafe"
)

// Headers are the fields of an answer that show the limit and its state: [RateLimit],
// [LegacyRateLimit], [XRateLimit], [OwnFields], or several of them in a [HeaderSet]. No other
// package can implement this interface.
//
// All write these three values: the limit, how much of it remains, and the effective window. The
// effective window depends on the answer:
//
//   - Allowed: the time until more events remain, if no more requests come. In this time, a client
//     that is alone with its key can use the remaining events. If all remain, the time is 0.
//   - Denied: the time of Retry-After. After that, the same request is usually granted, if no more
//     requests come. If it can never be granted, there is no Retry-After, and the effective window
//     is the time until the whole allowance is back.
//
// The effective window is rounded up to whole seconds. The time until more events remain is not
// always known. For example, a Limiter without the method TakeByComponent of a *[weir.KeyedLimiter]
// does not report it, and neither do some stores of package fleet. The effective window of an
// allowed request is then the time until the whole allowance is back. A client that always waits
// for that time may get less than the limit.
type Headers interface {
	// addTo adds the fields to those of an answer. The kinds of fields are in headers_ratelimit.go
	// and headers_three.go. The fields that tell the state of a limit in answers that are not denials
	// are in stateFields, too.
	addTo(*fields) error
}

// A HeaderSet writes the fields of all its Headers. One of them at most can be a [RateLimit], and
// none can be nil.
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

// appendInt appends n, or the nearest number that is allowed in a field. It writes eight digits at
// once. strconv.AppendInt writes them two at a time, elsewhere, and copies them all: the processor
// then waits for the writes.
func appendInt(b []byte, n int64) []byte {
	switch {
	case n < 10: // as most times are, in a third of the time
		return append(b, '0'+byte(max(n, 0)))
	case n < 100: // as times and small limits are, in half of it
		return append(b, '0'+byte(n/10), '0'+byte(n%10))
	case n >= 1e8:
		n = min(n, sfMaxInteger)
		return binary.LittleEndian.AppendUint64(appendInt(b, n/1e8), eightDigits(uint64(n%1e8)))
	}
	text := eightDigits(uint64(n))
	zeros := bits.TrailingZeros64(text-zero8) / 8 // in front of the number
	text >>= 8 * zeros
	if end := len(b); cap(b)-end >= 8 {
		binary.LittleEndian.PutUint64(b[end:end+8], text)
		return b[:end+8-zeros]
	}
	for ; text > 0; text >>= 8 {
		b = append(b, byte(text))
	}
	return b
}

// zero8 is the text 00000000.
const zero8 = 0x3030303030303030

// eightDigits returns the text of a number below 1e8, the first of its eight digits in the low byte.
// Each step divides every part of the word in two: the number by 10,000, these parts by 100, and
// those by 10. Products take the place of quotients. They are exact for parts below 10,000 and 100.
func eightDigits(n uint64) uint64 {
	n = n/1e4 | n%1e4<<32
	q := n * 10486 >> 20 & 0x7f_0000_007f
	n = q | (n-100*q)<<16
	q = n * 103 >> 10 & 0xf_000f_000f_000f
	n = q | (n-10*q)<<8
	return n + zero8
}

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
