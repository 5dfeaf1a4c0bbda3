package accesslog

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Stamp is the time of a request.
type Stamp struct {
	Nanos int64 // since the Unix epoch, never negative
	Whole bool  // whether the log has whole seconds, so that the request was in the second after it
}

// layouts are the forms of a time, the most frequent first. Package time also reads a fraction
// after the seconds, where a layout has none.
var layouts = []string{
	"02/Jan/2006:15:04:05 -0700", // of nginx and Apache
	time.RFC3339,
	"2006-01-02T15:04:05Z0700",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05",
	"2006-01-02T15:04:05", // without a zone it is UTC
	"2006/01/02 15:04:05",
}

var errYear = errors.New("must be between the years 1970 and 2262")

// stamps reads times. The lines of a log have the same form, and often the same time as the line
// before.
type stamps struct {
	layout int // the one that was read last
	text   string
	stamp  Stamp
}

func (s *stamps) parse(b []byte) (Stamp, error) {
	if len(b) > 0 && string(b) == s.text {
		return s.stamp, nil
	}
	text := string(b)
	parse := s.date
	if strings.Trim(text, "0123456789.") == "" {
		parse = unix
	}
	stamp, err := parse(text)
	if err != nil {
		return Stamp{}, fmt.Errorf("time is %q, %w", shorten(text, 80), err)
	}
	s.text, s.stamp = text, stamp
	return stamp, nil
}

func (s *stamps) date(text string) (Stamp, error) {
	for i := range layouts {
		n := (s.layout + i) % len(layouts)
		t, err := time.Parse(layouts[n], text)
		if err != nil {
			continue
		}
		if t.Unix() < 0 || t.Unix() >= math.MaxInt64/int64(time.Second) {
			return Stamp{}, errYear
		}
		s.layout = n
		return Stamp{t.UnixNano(), !strings.ContainsAny(text[len("2006-01-02"):], ".,")}, nil
	}
	return Stamp{}, errors.New("must be like 02/Jan/2006:15:04:05 -0700, 2006-01-02T15:04:05.123Z or seconds since 1970")
}

// unix reads a number since the Unix epoch. How large it is tells its unit: seconds, or
// milliseconds, microseconds or nanoseconds.
func unix(text string) (Stamp, error) {
	whole, fraction, hasFraction := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return Stamp{}, errors.New("must be a number of seconds, milliseconds, microseconds or nanoseconds since 1970")
	}
	unit := int64(time.Second)
	for large := int64(1e11); unit > 1 && n >= large; large *= 1000 { // 1e11 seconds are in the year 5138
		unit /= 1000
	}
	if n < 0 || n > math.MaxInt64/unit-1 {
		return Stamp{}, errYear
	}
	nanos := n * unit
	for _, digit := range []byte(fraction) {
		if digit == '.' {
			return Stamp{}, errors.New("must have one decimal point")
		}
		unit /= 10
		nanos += int64(digit-'0') * unit
	}
	return Stamp{nanos, unit == int64(time.Second) && !hasFraction}, nil
}

// shorten returns s, or the first bytes of it for an error.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
