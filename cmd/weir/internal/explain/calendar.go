package explain

import (
	"time"

	"github.com/weir-go/weir"
)

// The years in which windows of a calendar are looked at: a leap year, and the changes of clocks.
var (
	calendarFrom  = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	calendarYears = map[weir.Unit]int{weir.Hour: 1, weir.Day: 5, weir.Week: 5, weir.Month: 9, weir.Year: 99}
)

// starts returns the starts of successive windows of p. The ResetAfter of a grant tells when its
// window ends.
func starts(p weir.CalendarWindow) []int64 {
	p.Limit = 1
	d, err := p.Decider()
	if err != nil {
		return nil
	}
	var at []int64
	end := calendarFrom.AddDate(calendarYears[p.Unit], 0, 0).UnixNano()
	for now := calendarFrom.UnixNano(); now < end; {
		_, a := d.Decide(make([]uint64, d.Words()), now, weir.Ask{N: 1})
		now += int64(a.ResetAfter)
		at = append(at, now)
	}
	return at
}

// calendarTouched returns the largest number of windows that a span has instants of.
func calendarTouched(p weir.CalendarWindow, span time.Duration) int {
	if p.Unit == weir.Minute {
		return touched(span, time.Minute)
	}
	at := starts(p)
	if span == 1 || len(at) < 2 {
		return 1
	}
	most, first := 0, 0
	for i := range at { // a span that starts in the last instant of a window, and ends after at[i]
		for at[i]-at[first] > int64(span)-2 {
			first++
		}
		most = max(most, i-first+2)
	}
	if length := at[len(at)-1] - at[0]; int64(span) > length { // longer than what was looked at
		return sum(most, parts(span-time.Duration(length), 1, time.Duration(length/int64(len(at)-1))))
	}
	return most
}
