package weir_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// calendarForms are the policy in both its forms: with a state of one word, and of two.
func calendarForms(p weir.CalendarWindow) []weir.CalendarWindow {
	word, pair := p, p
	word.Limit, pair.Limit = 1<<29-1, 1<<29
	return []weir.CalendarWindow{word, pair}
}

func TestCalendarWindow_StatesAreOneWordUpToHalfABillion(t *testing.T) {
	forms := calendarForms(weir.CalendarWindow{Unit: weir.Month})
	assert.Equal(t, 1, kit.NewKey(t, forms[0]).Words())
	assert.Equal(t, 2, kit.NewKey(t, forms[1]).Words())
	for _, p := range forms {
		k := kit.NewKey(t, p)
		assert.Equal(t, p.Limit, k.Fill(kit.T0), "%+v", p)
		assert.False(t, k.Take(kit.T0, 1).Allowed)
		assert.Equal(t, p.Limit, k.Fill(k.Expiry(k.State)))
	}
}

func TestR12_CalendarWindowNamesEveryFault(t *testing.T) {
	for _, test := range []struct {
		policy weir.CalendarWindow
		faults []string
	}{
		{weir.CalendarWindow{}, []string{
			"Limit is 0, must be at least 1",
			"Unit is Unit(0), must be Minute, Hour, Day, Week, Month or Year",
		}},
		{weir.CalendarWindow{Limit: -5, Unit: weir.Year + 1, Location: "Local", Start: 40}, []string{
			"Limit is -5, must be at least 1",
			"Unit is Unit(7), must be Minute, Hour, Day, Week, Month or Year",
			`Location is "Local", must be the name of a time zone, the same on all machines`,
			"Start is 40, must be from 1 to 31, or 0, for a month",
		}},
		{weir.CalendarWindow{Limit: 1, Unit: weir.Day, Location: "Europe/Berln"}, []string{
			`Location is "Europe/Berln", must be a name in the time zone database, which ` +
				`import _ "time/tzdata" links in ("unknown time zone Europe/Berln")`,
		}},
		{weir.CalendarWindow{Limit: 1, Unit: weir.Minute, Start: 1}, []string{
			"Start is 1, must be 0 unless Unit is Week, Month or Year",
		}},
		{weir.CalendarWindow{Limit: 1, Unit: weir.Hour, Start: -1}, []string{
			"Start is -1, must be 0 unless Unit is Week, Month or Year",
		}},
		{weir.CalendarWindow{Limit: 1, Unit: weir.Day, Start: 4}, []string{
			"Start is 4, must be 0 unless Unit is Week, Month or Year",
		}},
		{weir.CalendarWindow{Limit: 1, Unit: weir.Week, Start: 7}, []string{
			"Start is 7, must be from 0 (Sunday) to 6 (Saturday) for a week",
		}},
		{weir.CalendarWindow{Limit: 1, Unit: weir.Month, Start: 32}, []string{"Start is 32, must be from 1 to 31, or 0, for a month"}},
		{weir.CalendarWindow{Limit: 1, Unit: weir.Year, Start: 13}, []string{
			"Start is 13, must be from 1 (January) to 12 (December), or 0, for a year",
		}},
	} {
		want := ""
		for _, fault := range test.faults {
			want += "\nweir: weir.CalendarWindow." + fault
		}
		_, err := weir.New(test.policy)
		assert.EqualError(t, err, want[1:])
	}
	for unit, most := range map[weir.Unit]int{weir.Week: 6, weir.Month: 31, weir.Year: 12} {
		for start := range most + 1 {
			_, err := weir.New(weir.CalendarWindow{Limit: math.MaxInt, Unit: unit, Start: start, Location: "UTC"})
			assert.NoError(t, err)
		}
	}
}

func TestCalendarWindow_IsAValue(t *testing.T) {
	a := weir.CalendarWindow{Limit: 1000, Unit: weir.Month, Location: "Europe/Berlin", Start: 15}
	b := weir.CalendarWindow{Limit: 1000, Unit: weir.Month, Location: "Europe/" + string([]byte("Berlin")), Start: 15}
	assert.True(t, weir.Policy(a) == weir.Policy(b))
}

func TestUnit_String(t *testing.T) {
	for unit, name := range map[weir.Unit]string{
		weir.Minute: "minute", weir.Hour: "hour", weir.Day: "day", weir.Week: "week", weir.Month: "month", weir.Year: "year",
		0: "Unit(0)", 7: "Unit(7)", 255: "Unit(255)",
	} {
		assert.Equal(t, name, unit.String())
	}
}

func TestR6_CalendarWindowAtTheEndOfTime(t *testing.T) {
	for unit := weir.Minute; unit <= weir.Year; unit++ {
		k := kit.NewKey(t, weir.CalendarWindow{Limit: 2, Unit: unit, Location: "America/New_York"})
		require.Equal(t, 2, k.Fill(math.MaxInt64-1))
		assert.Equal(t, int64(math.MaxInt64), k.Expiry(k.State), "%v", unit)
		for _, now := range []int64{math.MaxInt64 - 1, math.MaxInt64} {
			denied := k.Take(now, 1)
			assert.False(t, denied.Allowed)
			assert.Positive(t, denied.RetryAfter)
			assert.Equal(t, denied.RetryAfter, denied.ResetAfter)
		}
	}
}

// The clocks of a limiter don't step back, but those of two processes differ.
func TestR7_CalendarWindowAnOlderInstantEarnsNothing(t *testing.T) {
	for _, p := range calendarForms(weir.CalendarWindow{Unit: weir.Day, Location: "Europe/Berlin"}) {
		k := kit.NewKey(t, p)
		midnight := time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC).UnixNano()
		require.Equal(t, p.Limit, k.Fill(midnight))
		for _, older := range []int64{0, midnight - int64(48*time.Hour), midnight - 1} {
			assert.Zero(t, k.Look(older).Remaining)
			denied := k.Take(older, 1)
			until := midnight + int64(24*time.Hour)
			assert.Equal(t, time.Duration(until-older), denied.RetryAfter, "by the clock that is behind")
		}
		assert.Equal(t, midnight+int64(24*time.Hour), k.Expiry(k.State))
	}
}

func TestCalendarWindow_GivesBackWhatTheWindowStillHolds(t *testing.T) {
	for _, p := range calendarForms(weir.CalendarWindow{Unit: weir.Month, Location: "Europe/Berlin"}) {
		k := kit.NewKey(t, p)
		last := time.Date(2026, 10, 31, 22, 59, 59, 0, time.UTC).UnixNano()
		november := last + int64(time.Second)
		require.True(t, k.Take(last, 7).Allowed)
		require.True(t, k.Take(november, 5).Allowed)

		k.Ask(november, weir.Ask{N: -7, GrantedAt: last})
		assert.Equal(t, p.Limit-5, k.Look(november).Remaining, "those were of October")
		k.Ask(november, weir.Ask{N: -2, GrantedAt: november})
		assert.Equal(t, p.Limit-3, k.Look(november).Remaining)
		k.Ask(november, weir.Ask{N: math.MinInt})
		assert.Equal(t, p.Limit, k.Look(november).Remaining, "never more than there was")
	}
}

func TestR9_CalendarWindowDebtsSaturate(t *testing.T) {
	for _, p := range calendarForms(weir.CalendarWindow{Unit: weir.Month}) {
		k := kit.NewKey(t, p)
		for range 5 {
			a := k.Ask(kit.T0, weir.Ask{N: math.MaxInt, Mode: weir.Regardless})
			assert.True(t, a.Allowed)
			assert.Zero(t, a.Remaining)
		}
		if math.MaxInt > math.MaxInt32 {
			k.Ask(kit.T0, weir.Ask{N: -math.MaxInt})
			assert.Zero(t, k.Look(kit.T0).Remaining, "it is not known how much of it is left")
		}
		due := kit.T0 + int64(k.Take(kit.T0, 1).RetryAfter)
		assert.Equal(t, p.Limit, k.Fill(due), "debts end with the window")
	}
}

// Two processes on one store may have different versions of the time zone database. A state is read
// by both. Here their boundaries are those of two zones.
func TestCalendarWindow_StatesOutliveTheZoneDatabase(t *testing.T) {
	for i := range 2 {
		p := calendarForms(weir.CalendarWindow{Unit: weir.Day})[i]
		utc := kit.NewKey(t, p)
		p.Location = "Europe/Berlin"
		berlin := kit.NewKey(t, p)
		berlin.State = utc.State

		at := time.Date(2026, 11, 21, 22, 30, 0, 0, time.UTC).UnixNano()
		minute := int64(time.Minute)
		require.Equal(t, p.Limit, utc.Fill(at))
		require.Zero(t, berlin.Fill(at))
		require.Equal(t, p.Limit, berlin.Fill(at+30*minute), "the day has ended there")
		for now := at + 30*minute; now < at+90*minute; now += minute {
			require.Zero(t, utc.Fill(now), "the count of a later day is not dropped")
			require.Zero(t, berlin.Fill(now))
		}
		require.Equal(t, p.Limit, utc.Fill(at+90*minute))
	}
}

// One decider serves all keys of a limiter at once. Answers must not depend on what it remembers of
// the calendar.
func TestCalendarWindow_ADeciderIsPure(t *testing.T) {
	p := weir.CalendarWindow{Limit: 5, Unit: weir.Minute, Location: "Asia/Kathmandu"}
	shared := kit.NewKey(t, p)
	var group sync.WaitGroup
	for n := range int64(4) {
		group.Go(func() {
			for i := range runs.Long[int64](2000, 500) {
				now := kit.T0 + (i%5-2)*n*int64(20*time.Second) + i*int64(time.Second)
				fresh, k := kit.NewKey(t, p), shared.Copy()
				assert.Equal(t, fresh.Fill(now), k.Fill(now))
				assert.Equal(t, fresh.Take(now, 1), k.Take(now, 1))
				assert.Equal(t, fresh.Expiry(fresh.State), k.Expiry(k.State))
			}
		})
	}
	group.Wait()
}

func TestR10_CalendarWindowGrantsExactlyItsLimit(t *testing.T) {
	for _, p := range calendarForms(weir.CalendarWindow{Unit: weir.Month, Location: "Europe/Berlin"}) {
		l := weir.Must(weir.New(p, weir.WithClock(&kit.HandClock{Time: time.Unix(0, kit.T0)})))
		_, err := l.Take(context.Background(), "key", p.Limit-1000)
		require.NoError(t, err)
		var group sync.WaitGroup
		granted := make([]int, 16)
		for i := range granted {
			group.Go(func() {
				for range 125 {
					if l.Allow("key") {
						granted[i]++
					}
				}
			})
		}
		group.Wait()
		sum := 0
		for _, n := range granted {
			sum += n
		}
		assert.Equal(t, 1000, sum)
	}
}

func TestCalendarWindow_DecisionsDoNotAllocate(t *testing.T) {
	for _, p := range calendarForms(weir.CalendarWindow{Unit: weir.Hour, Location: "America/New_York"}) {
		for _, step := range []time.Duration{time.Second, time.Hour} { // the window stays, or turns
			k, now := kit.NewKey(t, p), kit.T0
			assert.Zero(t, kit.AllocsPerRun(1000, func() {
				k.Take(now, 1)
				k.Ask(now, weir.Ask{N: 3, Mode: weir.UpTo})
				k.Ask(now, weir.Ask{N: -1})
				k.Expiry(k.State)
				now += int64(step)
			}))
		}
	}
}

func BenchmarkCalendarWindow(b *testing.B) {
	for _, p := range []weir.Policy{
		weir.CalendarWindow{Limit: 1 << 29, Unit: weir.Month, Location: "Europe/Berlin", Start: 15},
		weir.FixedWindow{Limit: 1 << 29, Per: 24 * time.Hour},
	} {
		b.Run(fmt.Sprintf("%T", p), func(b *testing.B) {
			l := weir.Must(weir.New(p))
			b.ReportAllocs()
			for b.Loop() {
				l.Allow("key")
			}
		})
	}
}
