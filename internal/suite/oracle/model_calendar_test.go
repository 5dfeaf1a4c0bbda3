package oracle

import (
	"math"
	"math/big"
	"time"
	_ "time/tzdata" // the tests need no zones on the machine

	"github.com/weir-go/weir"
)

// calendarModel is a calendar's window with a count. It finds the window in small steps, looking at
// the date that time.Time shows.
type calendarModel struct {
	policy   weir.CalendarWindow
	zone     *time.Location
	from, to time.Time
	count    uint64
	seen     int64
}

func newCalendarModel(p weir.CalendarWindow) calendarModel {
	zone, err := time.LoadLocation(p.Location)
	if err != nil {
		panic(err)
	}
	return calendarModel{policy: p, zone: zone}
}

func (m calendarModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	m.seen = max(now, m.seen)
	at := time.Unix(0, m.seen).In(m.zone)
	if !at.Before(m.to) {
		m.from, m.to = calendarWindowAt(m.policy, at)
		m.count = 0
	}

	limit, most := uint64(m.policy.Limit), m.most()
	room := limit - min(m.count, limit)
	allowed, granted, n := true, 0, uint64(max(ask.N, 0))
	switch {
	case ask.N == 0:
	case ask.N < 0:
		held := ask.GrantedAt == 0 || !time.Unix(0, ask.GrantedAt).Before(m.from)
		if held && m.count < most {
			m.count -= min(m.count, -uint64(ask.N))
		}
	case ask.Mode == weir.Regardless:
		m.count += min(n, most-m.count)
	case ask.Mode == weir.UpTo && room > 0:
		n = min(n, room)
		m.count, granted = m.count+n, int(n)
	case ask.Mode == weir.UpTo:
		n, allowed = 1, false
	default:
		if allowed = n <= room; allowed {
			m.count += n
		}
	}

	left := m.to.Sub(at)
	a := weir.Answer{Granted: granted}
	a.Allowed, a.Limit, a.Remaining = allowed, m.policy.Limit, int(limit-min(m.count, limit))
	if m.count > 0 {
		a.ResetAfter = left
	}
	switch {
	case !allowed && n > limit:
		a.RetryAfter = weir.Never
	case !allowed:
		a.RetryAfter = left
	}
	return a, m
}

// most is a count, in debt, that one word does not hold. It stands for all larger ones, and stays.
// One word has room for the limit and a debt as large.
func (m calendarModel) most() uint64 {
	if most := uint64(1<<30 - 1); uint64(m.policy.Limit) <= most/2 {
		return most
	}
	return math.MaxUint64
}

func (m calendarModel) used() *big.Int {
	if m.count >= m.most() {
		return new(big.Int).SetUint64(math.MaxUint64)
	}
	return new(big.Int).SetUint64(m.count)
}

// expiry is when nothing is left of what was counted.
func (m calendarModel) expiry() int64 {
	switch {
	case m.count == 0:
		return 0
	case m.to.Unix() > lastSecond/int64(time.Second):
		return math.MaxInt64
	default:
		return m.to.UnixNano()
	}
}

// calendarWindowAt is the window of a policy that an instant lies in.
func calendarWindowAt(p weir.CalendarWindow, at time.Time) (from, to time.Time) {
	year, month, day := at.Date()
	var first func(n int) (year int, month time.Month, day int) // day of the nth window from this
	switch p.Unit {
	case weir.Day:
		first = func(n int) (int, time.Month, int) { return year, month, day + n }
	case weir.Week:
		back := (int(at.Weekday()) - p.Start + 7) % 7
		first = func(n int) (int, time.Month, int) { return year, month, day - back + 7*n }
	case weir.Month:
		first = func(n int) (int, time.Month, int) {
			if day < min(or(p.Start, 1), lastDay(year, month)) {
				n--
			}
			return year, month + time.Month(n), min(or(p.Start, 1), lastDay(year, month+time.Month(n)))
		}
	case weir.Year:
		first = func(n int) (int, time.Month, int) {
			if int(month) < p.Start {
				n--
			}
			return year + n, time.Month(or(p.Start, 1)), 1
		}
	default:
		return clockWindowAt(p, at)
	}
	for n := 0; ; n++ {
		from, to = firstSeen(at.Location(), first, n), firstSeen(at.Location(), first, n+1)
		if at.Before(to) {
			return from, to
		}
	}
}

// lastDay is that of a month.
func lastDay(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// step is such that all that clocks show anew, they show at a multiple of it.
const step = 30 * time.Second

// firstSeen is the first instant from the epoch on at which clocks show a date, or a later one.
func firstSeen(zone *time.Location, first func(n int) (int, time.Month, int), n int) time.Time {
	year, month, day := first(n)
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	shows := func(at time.Time) bool {
		year, month, day := at.Date()
		return !time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Before(date)
	}
	// Clocks that are put back never show again what was more than an hour or two ago; forward they
	// may go by a day.
	at := time.Date(year, month, day, -3, 0, 0, 0, zone)
	for shows(at) {
		at = at.Add(-6 * time.Hour)
	}
	if at.Unix() < 0 {
		at = time.Unix(0, 0).In(zone)
	}
	for at = at.Truncate(step); !shows(at); {
		at = at.Add(step)
	}
	return at
}

// clockWindowAt is that of a minute or an hour: as long as clocks show the same, at the same
// offset.
func clockWindowAt(p weir.CalendarWindow, at time.Time) (from, to time.Time) {
	minutes := 60
	if p.Unit == weir.Minute {
		minutes = 1
	}
	same := func(t time.Time) bool {
		_, tOffset := t.Zone()
		_, offset := at.Zone()
		return t.Hour() == at.Hour() && t.Minute()/minutes == at.Minute()/minutes && tOffset == offset
	}
	from = at.Truncate(step)
	to = from.Add(step)
	for same(from.Add(-step)) && from.Unix() > 0 {
		from = from.Add(-step)
	}
	for same(to) {
		to = to.Add(step)
	}
	return from, to
}
