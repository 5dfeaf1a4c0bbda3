package calendar

import (
	"math"
	"time"
)

// A Unit is a unit of the calendar.
type Unit uint8

// The units, with the numbers of weir's.
const (
	Minute Unit = iota + 1
	Hour
	Day
	Week
	Month
	Year
)

// A calendar divides time into the windows of a unit, as the clocks of a zone show it. Its instants
// are seconds since the Unix epoch, because no clock in any zone is off by fractions of a second.
// It knows no instants before the epoch.
//
// A "civil" time is what the clocks show, as a number: the seconds since the epoch at which clocks
// of UTC show the same.
type calendar struct {
	unit  Unit
	start int // of a week, month or year: the weekday, the day of the month, the month
	zone  *time.Location
}

const (
	minuteSeconds = 60
	hourSeconds   = 60 * minuteSeconds
	daySeconds    = 24 * hourSeconds

	// No zone is further than that from UTC: RFC 8536, section 3.2, has them below 26 hours.
	maxOffset = 26 * hourSeconds
)

// around is the window that the instant at lies in, from start to before end.
func (c calendar) around(at int64) (start, end int64) {
	switch c.unit {
	case Minute:
		return c.shown(at, minuteSeconds)
	case Hour:
		return c.shown(at, hourSeconds)
	}
	offset, _ := c.offset(at)
	shown := time.Unix(at+offset, 0).UTC()
	start, end = c.first(c.turn(shown, 0)), c.first(c.turn(shown, 1))
	for n := 2; at >= end; n++ { // the date shown has been passed before, and a later one seen
		start, end = end, c.first(c.turn(shown, n))
	}
	return start, end
}

// shown is the time around at in which clocks show the same minute or hour, and keep their offset.
// An hour that is shown twice is therefore two windows.
func (c calendar) shown(at, length int64) (start, end int64) {
	offset, _ := c.offset(at)
	start = at - (at+offset+maxOffset)%length
	end = start + length
	start = max(start, 0)
	for t := start; t < end; {
		o, until := c.offset(t)
		switch {
		case o == offset:
		case t < at:
			start = until
		default:
			end = t
		}
		t = until
	}
	return start, end
}

// first is the first instant at which clocks show civil, or anything later because they skip it.
// They may be put back and show it again; that changes nothing.
func (c calendar) first(civil int64) int64 {
	for at := max(civil-maxOffset, 0); ; {
		offset, until := c.offset(at)
		if t := max(at, civil-offset); t < until {
			return t
		}
		at = until
	}
}

// offset is how far ahead of UTC the clocks are at an instant, and an instant until which they keep
// that offset at least.
func (c calendar) offset(at int64) (offset, until int64) {
	t := time.Unix(at, 0).In(c.zone)
	_, east := t.Zone()
	_, end := t.ZoneBounds()
	if end.IsZero() {
		return int64(east), math.MaxInt64
	}
	until = end.Unix()
	if until <= at {
		// In years to come, ZoneBounds takes the 366th day for one beyond the year's end.
		until = at - at%daySeconds + daySeconds
	}
	return int64(east), until
}

// turn is the civil time at which the nth day, week, month or year starts from the one that
// contains a date.
func (c calendar) turn(date time.Time, n int) int64 {
	year, month, day := date.Date()
	switch c.unit {
	case Day:
		day += n
	case Week:
		day += 7*n - (int(date.Weekday())-c.start+7)%7
	case Month:
		if day < c.startIn(year, month) {
			n--
		}
		month += time.Month(n)
		day = c.startIn(year, month)
	default:
		if int(month) < c.start {
			n--
		}
		year, month, day = year+n, time.Month(c.start), 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix()
}

// startIn is the day on which a month starts.
func (c calendar) startIn(year int, month time.Month) int {
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return min(c.start, last)
}
