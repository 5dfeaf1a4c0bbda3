package calendar

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests hold the calendar against a scan: an observer who looks at the clocks of a zone at
// each step of time, and notes when they show a new day, week, month or year for the first time, or
// another minute or hour. The observer knows the clocks alone, time.Time's fields, and nothing of
// transitions and offsets.

// A sight is what the observer sees at an instant.
type sight struct {
	year, month, day, weekday, hour, minute, offset int
}

func see(at int64, zone *time.Location) sight {
	t := time.Unix(at, 0).In(zone)
	year, month, day := t.Date()
	hour, minute, _ := t.Clock()
	_, offset := t.Zone()
	return sight{year, int(month), day, int(t.Weekday()), hour, minute, offset}
}

// window is a number for the window that the clocks show. It grows with the date; those of hours
// and minutes are the same only if the clocks kept their offset.
func (s sight) window(c calendar) int {
	switch c.unit {
	case Day:
		return s.date()
	case Week: // the date of its first day
		t := time.Date(s.year, time.Month(s.month), s.day-(s.weekday-c.start+7)%7, 0, 0, 0, 0, time.UTC)
		return sight{year: t.Year(), month: int(t.Month()), day: t.Day()}.date()
	case Month:
		n := s.year*12 + s.month - 1
		if s.day < min(c.start, daysIn(s.year, s.month)) {
			n--
		}
		return n
	case Year:
		if s.month < c.start {
			return s.year - 1
		}
		return s.year
	case Hour:
		return (s.date()*24+s.hour)*200_000 + s.offset
	default:
		return ((s.date()*24+s.hour)*60+s.minute)*200_000 + s.offset
	}
}

func (s sight) date() int { return s.year*10_000 + s.month*100 + s.day }

func daysIn(year, month int) int {
	days := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		days++
	}
	return days
}

// observe scans from one instant to another, and returns the starts of windows that it saw, for
// each calendar.
func observe(zone *time.Location, calendars []calendar, from, to, step int64) [][]int64 {
	starts, known := make([][]int64, len(calendars)), make([]int, len(calendars))
	for at := from; at <= to; at += step {
		s := see(at, zone)
		for i, c := range calendars {
			w := s.window(c)
			isNew := w > known[i]
			if c.unit <= Hour {
				isNew = w != known[i]
			}
			if !isNew {
				continue
			}
			if known[i] = w; at > from {
				starts[i] = append(starts[i], at)
			}
		}
	}
	return starts
}

// checkObserved requires that the windows of each calendar follow one another without gap or
// overlap, and start where the observer saw them start.
func checkObserved(t *testing.T, zone *time.Location, calendars []calendar, from, to, step int64) {
	for i, want := range observe(zone, calendars, from, to, step) {
		c := calendars[i]
		c.zone = zone
		start, end := c.around(from)
		require.True(t, start <= from && from < end, "%v %+v: %d is not in %d to %d", zone, c, from, start, end)
		var got []int64
		for end <= to {
			got = append(got, end)
			next, nextEnd := c.around(end)
			if next != end || nextEnd <= end {
				require.FailNow(t, "gap or overlap", "%v %+v: after %d comes %d to %d", zone, c, end, next, nextEnd)
			}
			end = nextEnd
			for at := next; at < min(end, to); at += (min(end, to)-next)/8 + 1 {
				if s, e := c.around(at); s != next || e != end {
					require.FailNow(t, "not one window", "%v %+v: at %d it is %d to %d, not %d to %d", zone, c, at, s, e, next, end)
				}
			}
		}
		if !slices.Equal(want, got) {
			require.FailNow(t, "not where observed", "%v %+v: from %d observed %d, got %d", zone, c, from, want, got)
		}
	}
}
