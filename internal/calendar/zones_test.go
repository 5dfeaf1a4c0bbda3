package calendar

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

var everyMinute = []calendar{{unit: Minute}}

// calendarsFor are calendars that turn on the date given or the next, and others: all that need not
// be observed at each minute.
func calendarsFor(s sight) []calendar {
	return []calendar{
		{unit: Hour},
		{unit: Day},
		{unit: Week, start: s.weekday},
		{unit: Week, start: (s.weekday + 1) % 7},
		{unit: Month, start: s.day},
		{unit: Month, start: s.day%31 + 1},
		{unit: Month, start: 31},
		{unit: Year, start: s.month},
		{unit: Year, start: s.month%12 + 1},
	}
}

// Every zone that Go knows, every transition from 1970 to 2037, every unit, turning on the very
// day.
func TestWindowsTileTimeAroundEveryTransition(t *testing.T) {
	zones := zonesOfGo(t)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
	zones = zones[:runs.Long(len(zones), 20)]
	count := 0
	for _, zone := range zones {
		for _, at := range transitions(zone) {
			count++
			before, after := see(at-1, zone), see(at, zone)
			check := func(calendars []calendar, span, step int64) {
				from := max(at-span, 0)
				checkObserved(t, zone, calendars, from-from%step, at+span, step)
			}
			step := int64(900)
			for at%step != 0 || int64(before.offset)%step != 0 || int64(after.offset)%step != 0 {
				step = map[int64]int64{900: 60, 60: 1}[step]
			}
			check(everyMinute, 300, min(step, 60))
			// Check the times that clocks show twice, and an hour more on both sides.
			span := int64(max(before.offset-after.offset, after.offset-before.offset)) + 3600
			check(calendarsFor(before), span, step)
			if before.date() != after.date() {
				check(calendarsFor(after), span, step)
			}
		}
	}
	require.Greater(t, count, 10*len(zones), "transitions")
}

// Between transitions, too: the days, weeks, months and years from 1970 to 2037 of every zone,
// seen at their start and one second before.
func TestWindowsTileAllTime(t *testing.T) {
	for i, zone := range zonesOfGo(t) {
		if i%runs.Long(1, 40) > 0 {
			continue
		}
		calendars := []calendar{
			{Week, i % 7, zone}, {Month, 1, zone}, {Month, 15 + i%17, zone}, {Year, 1 + i%12, zone},
		}
		if i%10 == 0 {
			calendars = append(calendars, calendar{Day, 0, zone})
		}
		for _, c := range calendars {
			for at := int64(0); at < 2_145_916_800; {
				start, end := c.around(at)
				last, next := see(end-1, zone).window(c), see(end, zone).window(c)
				if start != at || end <= at || last >= next {
					require.FailNow(t, "no window", "%v %+v at %d: %d to %d", zone, c, at, start, end)
				}
				at = end
			}
		}
	}
}

// There is no time before the epoch.
func TestTheFirstWindowsStartAtTheEpoch(t *testing.T) {
	for _, zone := range zonesOfGo(t) {
		for _, c := range append(calendarsFor(see(0, zone)), everyMinute...) {
			c.zone = zone
			start, end := c.around(0)
			require.Zero(t, start, "%v %+v", zone, c)
			require.Positive(t, end, "%v %+v", zone, c)
		}
	}
}

// In years to come zones follow a rule. Its last day of a leap year is one that
// time.Time.ZoneBounds gets wrong.
func TestLeapYearsToComeEndWell(t *testing.T) {
	for _, zone := range zonesOfGo(t) {
		if _, end := time.Unix(2_240_000_000, 0).In(zone).ZoneBounds(); end.IsZero() {
			continue // has no rule
		}
		for _, year := range []int{2040, 2096, 2260}[:runs.Long(3, 1)] {
			from := time.Date(year, time.December, 30, 0, 0, 0, 0, time.UTC).Unix()
			calendars := calendarsFor(see(from+36*3600, zone))
			checkObserved(t, zone, calendars, from, from+4*24*3600, 15*60)
		}
	}
}

// Zones that no country has had yet: their clocks are put forward and back at random, up to days
// at once.
func TestWindowsTileTimeInMadeUpZones(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for n := range runs.Long(1000, 300) {
		const step = 450
		first := random.Int64N(1<<31/step) * step
		at, offset := first, 0
		var zone tzFile
		for range 1 + random.IntN(6) {
			zone.add(at, offset)
			at += (1 + random.Int64N([]int64{4, 20, 200}[random.IntN(3)])) * step
			if most := []int{4, 16, 207}[random.IntN(3)]; random.IntN(2) == 0 {
				offset = (random.IntN(2*most+1) - most) * step
			} else {
				offset = min(max(offset+(random.IntN(2*most+1)-most)*step, -26*3600+step), 26*3600-step)
			}
		}
		location, err := time.LoadLocationFromTZData(fmt.Sprint("made up ", n), zone.bytes())
		require.NoError(t, err)
		from := max(first-30*3600, 0)
		calendars := calendarsFor(see(first+random.Int64N(at-first), location))
		checkObserved(t, location, calendars, from-from%step, min(at, 1<<31-1)+60*3600, step)
	}
}
