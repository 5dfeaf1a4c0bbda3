package weir_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A window written out: local times with their offsets.
type windowCase struct {
	start    int
	from, to string
	length   time.Duration
}

func checkWindows(t *testing.T, unit weir.Unit, location string, cases ...windowCase) {
	for _, c := range cases {
		t.Run(fmt.Sprintf("%v in %s from %d/%s", unit, location, c.start, c.from), func(t *testing.T) {
			from, err := time.Parse(time.RFC3339, c.from)
			require.NoError(t, err)
			to, err := time.Parse(time.RFC3339, c.to)
			require.NoError(t, err)
			require.Equal(t, c.length, to.Sub(from), "the case itself")
			p := weir.CalendarWindow{Limit: 3, Unit: unit, Location: location, Start: c.start}

			start, end := from.UnixNano(), to.UnixNano()
			before := kit.NewKey(t, p)
			before.Fill(start - 1)
			assert.False(t, before.Take(start-1, 1).Allowed)
			assert.Equal(t, 3, before.Fill(start), "the window has begun")

			k := kit.NewKey(t, p)
			assert.Equal(t, 3, k.Fill(start))
			assert.Equal(t, c.length, k.Take(start, 1).RetryAfter)
			for i := range time.Duration(50) {
				at := start + int64(i*c.length/50)
				assert.Equal(t, time.Duration(end-at), k.Take(at, 1).RetryAfter)
			}
			assert.Equal(t, time.Duration(1), k.Take(end-1, 1).RetryAfter)
			assert.Equal(t, end, k.Expiry(k.State))
			assert.Equal(t, 3, k.Fill(end), "the window has ended")
		})
	}
}

const (
	hour = time.Hour
	day  = 24 * hour
)

func TestCalendarWindow_Hours(t *testing.T) {
	checkWindows(t, weir.Hour, "",
		windowCase{0, "2026-11-21T13:00:00Z", "2026-11-21T14:00:00Z", hour})
	// 45 minutes past the hour is when theirs starts.
	checkWindows(t, weir.Hour, "Asia/Kathmandu",
		windowCase{0, "2026-11-21T13:00:00+05:45", "2026-11-21T14:00:00+05:45", hour})
	checkWindows(t, weir.Hour, "Europe/Berlin",
		windowCase{0, "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", hour}, // two o'clock is skipped
		windowCase{0, "2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00", hour},
		windowCase{0, "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", hour}, // it is two o'clock twice
		windowCase{0, "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00", hour})
	checkWindows(t, weir.Hour, "Australia/Lord_Howe",
		windowCase{0, "2026-04-05T01:00:00+11:00", "2026-04-05T02:00:00+11:00", hour},
		windowCase{0, "2026-04-05T01:30:00+10:30", "2026-04-05T02:00:00+10:30", hour / 2}, // shown again
		windowCase{0, "2026-04-05T02:00:00+10:30", "2026-04-05T03:00:00+10:30", hour},
		windowCase{0, "2026-10-04T01:00:00+10:30", "2026-10-04T02:30:00+11:00", hour},
		windowCase{0, "2026-10-04T02:30:00+11:00", "2026-10-04T03:00:00+11:00", hour / 2}) // half of it is skipped
}

func TestCalendarWindow_Minutes(t *testing.T) {
	checkWindows(t, weir.Minute, "America/New_York",
		windowCase{0, "2026-11-01T01:59:00-04:00", "2026-11-01T01:00:00-05:00", time.Minute})
	// Until 7 January 1972 clocks in Liberia were 44 minutes and 30 seconds behind.
	checkWindows(t, weir.Minute, "Africa/Monrovia",
		windowCase{0, "1972-01-07T00:43:30Z", "1972-01-07T00:44:30Z", time.Minute},
		windowCase{0, "1972-01-07T00:44:30Z", "1972-01-07T00:45:00Z", time.Minute / 2})
}

func TestCalendarWindow_Days(t *testing.T) {
	checkWindows(t, weir.Day, "Europe/Berlin",
		windowCase{0, "2026-11-21T00:00:00+01:00", "2026-11-22T00:00:00+01:00", day},
		windowCase{0, "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", day - hour},
		windowCase{0, "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00", day + hour})
	checkWindows(t, weir.Day, "Australia/Lord_Howe",
		windowCase{0, "2026-04-05T00:00:00+11:00", "2026-04-06T00:00:00+10:30", day + hour/2},
		windowCase{0, "2026-10-04T00:00:00+10:30", "2026-10-05T00:00:00+11:00", day - hour/2})
	// Midnight is skipped.
	checkWindows(t, weir.Day, "America/Sao_Paulo",
		windowCase{0, "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00", day - hour})
	// One minute past midnight clocks were put back across it. The 28th did not come back.
	checkWindows(t, weir.Day, "America/St_Johns",
		windowCase{0, "2006-10-28T00:00:00-02:30", "2006-10-29T00:00:00-02:30", day},
		windowCase{0, "2006-10-29T00:00:00-02:30", "2006-10-30T00:00:00-03:30", day + hour})
	checkWindows(t, weir.Day, "Africa/Monrovia",
		windowCase{0, "1972-01-07T00:44:30Z", "1972-01-08T00:00:00Z", day - 44*time.Minute - 30*time.Second})
	// Midnight of the last day of a leap year to come.
	checkWindows(t, weir.Day, "America/New_York",
		windowCase{0, "2040-12-31T00:00:00-05:00", "2041-01-01T00:00:00-05:00", day})
}

// Samoa moved across the date line: 29 December 2011 was followed by the 31st.
func TestCalendarWindow_ADateThatIsSkipped(t *testing.T) {
	checkWindows(t, weir.Day, "Pacific/Apia",
		windowCase{0, "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00", day},
		windowCase{0, "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00", day})
	checkWindows(t, weir.Week, "Pacific/Apia",
		windowCase{1, "2011-12-26T00:00:00-10:00", "2012-01-02T00:00:00+14:00", 6 * day},
		windowCase{5, "2011-12-23T00:00:00-10:00", "2011-12-31T00:00:00+14:00", 7 * day}, // no Friday
		windowCase{5, "2011-12-31T00:00:00+14:00", "2012-01-06T00:00:00+14:00", 6 * day},
		windowCase{6, "2011-12-24T00:00:00-10:00", "2011-12-31T00:00:00+14:00", 6 * day})
	checkWindows(t, weir.Month, "Pacific/Apia",
		windowCase{0, "2011-12-01T00:00:00-10:00", "2012-01-01T00:00:00+14:00", 30 * day},
		windowCase{30, "2011-11-30T00:00:00-10:00", "2011-12-31T00:00:00+14:00", 30 * day}, // no 30th
		windowCase{30, "2011-12-31T00:00:00+14:00", "2012-01-30T00:00:00+14:00", 30 * day},
		windowCase{31, "2011-12-31T00:00:00+14:00", "2012-01-31T00:00:00+14:00", 31 * day})
}

func TestCalendarWindow_Weeks(t *testing.T) {
	checkWindows(t, weir.Week, "",
		windowCase{int(time.Sunday), "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z", 7 * day},
		windowCase{int(time.Monday), "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z", 7 * day},
		windowCase{int(time.Saturday), "2026-11-21T00:00:00Z", "2026-11-28T00:00:00Z", 7 * day},
		windowCase{int(time.Thursday), "2026-12-31T00:00:00Z", "2027-01-07T00:00:00Z", 7 * day})
	checkWindows(t, weir.Week, "Europe/Berlin",
		windowCase{int(time.Monday), "2026-03-23T00:00:00+01:00", "2026-03-30T00:00:00+02:00", 7*day - hour})
}

func TestCalendarWindow_Months(t *testing.T) {
	checkWindows(t, weir.Month, "",
		windowCase{0, "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", 28 * day},
		windowCase{1, "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z", 29 * day},
		windowCase{15, "2026-12-15T00:00:00Z", "2027-01-15T00:00:00Z", 31 * day},
		windowCase{30, "2028-01-30T00:00:00Z", "2028-02-29T00:00:00Z", 30 * day},
		windowCase{29, "2026-02-28T00:00:00Z", "2026-03-29T00:00:00Z", 29 * day},
		windowCase{31, "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z", 28 * day},
		windowCase{31, "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z", 31 * day},
		windowCase{31, "2026-03-31T00:00:00Z", "2026-04-30T00:00:00Z", 30 * day})
	checkWindows(t, weir.Month, "Europe/Berlin",
		windowCase{25, "2026-09-25T00:00:00+02:00", "2026-10-25T00:00:00+02:00", 30 * day},
		windowCase{26, "2026-09-26T00:00:00+02:00", "2026-10-26T00:00:00+01:00", 30*day + hour})
}

func TestCalendarWindow_Years(t *testing.T) {
	checkWindows(t, weir.Year, "",
		windowCase{0, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", 365 * day},
		windowCase{1, "2028-01-01T00:00:00Z", "2029-01-01T00:00:00Z", 366 * day},
		windowCase{12, "2026-12-01T00:00:00Z", "2027-12-01T00:00:00Z", 365 * day})
	checkWindows(t, weir.Year, "Europe/London",
		windowCase{4, "2027-04-01T00:00:00+01:00", "2028-04-01T00:00:00+01:00", 366 * day})
}
