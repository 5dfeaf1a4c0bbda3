package calendar

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	_ "time/tzdata" // the tests need no zones on the machine

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func berlin(t *testing.T) *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	return zone
}

// Each unit has its windows, and its start.
func TestWindows_Units(t *testing.T) {
	zone := berlin(t)
	now := time.Date(2026, 11, 21, 13, 14, 15, 16, zone) // a Saturday
	for _, c := range []struct {
		name     string
		windows  *Windows
		from, to time.Time
	}{
		{"minutes", New(Minute, 0, zone), time.Date(2026, 11, 21, 13, 14, 0, 0, zone), time.Date(2026, 11, 21, 13, 15, 0, 0, zone)},
		{"hours", New(Hour, 0, zone), time.Date(2026, 11, 21, 13, 0, 0, 0, zone), time.Date(2026, 11, 21, 14, 0, 0, 0, zone)},
		{"days", New(Day, 0, zone), time.Date(2026, 11, 21, 0, 0, 0, 0, zone), time.Date(2026, 11, 22, 0, 0, 0, 0, zone)},
		{"weeks", New(Week, int(time.Sunday), zone), time.Date(2026, 11, 15, 0, 0, 0, 0, zone), time.Date(2026, 11, 22, 0, 0, 0, 0, zone)},
		{"weeks", New(Week, int(time.Saturday), zone), time.Date(2026, 11, 21, 0, 0, 0, 0, zone), time.Date(2026, 11, 28, 0, 0, 0, 0, zone)},
		{"months", New(Month, 1, zone), time.Date(2026, 11, 1, 0, 0, 0, 0, zone), time.Date(2026, 12, 1, 0, 0, 0, 0, zone)},
		{"months", New(Month, 31, zone), time.Date(2026, 10, 31, 0, 0, 0, 0, zone), time.Date(2026, 11, 30, 0, 0, 0, 0, zone)},
		{"years", New(Year, int(time.January), zone), time.Date(2026, 1, 1, 0, 0, 0, 0, zone), time.Date(2027, 1, 1, 0, 0, 0, 0, zone)},
		{"years", New(Year, int(time.December), zone), time.Date(2025, 12, 1, 0, 0, 0, 0, zone), time.Date(2026, 12, 1, 0, 0, 0, 0, zone)},
	} {
		start, end := c.windows.Around(uint64(now.UnixNano()), 0)
		assert.Equal(t, c.from, time.Unix(int64(start), 0).In(zone), c.name)
		assert.Equal(t, c.to, time.Unix(int64(end), 0).In(zone), c.name)
	}
}

// Nobody asks the calendar again for the window of the latest decision. A sweep over states of
// windows long ago, which asks at their start, changes nothing in that.
func TestWindows_TheWindowOfTheLatestDecisionIsKept(t *testing.T) {
	w := New(Month, 1, berlin(t))
	start, end := seconds(2026, 10, 31, 23), seconds(2026, 11, 30, 23)
	requireKept := func() {
		latest := span(w.latest.Load())
		require.Equal(t, start, latest.start())
		require.Equal(t, end, latest.end())
	}
	old, _ := w.Around(seconds(2026, 10, 5, 0)*nanosPerSec, 0)
	require.Equal(t, seconds(2026, 9, 30, 22), old)

	gotStart, gotEnd := w.Around(seconds(2026, 11, 21, 13)*nanosPerSec, old)
	require.Equal(t, start, gotStart)
	require.Equal(t, end, gotEnd)
	requireKept()

	gotStart, gotEnd = w.Around(old*nanosPerSec, old)
	require.Equal(t, old, gotStart)
	require.Equal(t, start, gotEnd, "windows follow one another")
	requireKept()
}

// Machines may have different versions of the time zone database. A window that another one began
// later, or that has not begun here, goes on until the window here ends that contains its start.
func TestWindows_KnownFromAnotherDatabase(t *testing.T) {
	w := New(Day, 0, time.UTC)
	midnight, noon, next := seconds(2026, 11, 21, 0), seconds(2026, 11, 21, 12), seconds(2026, 11, 22, 0)
	for _, now := range []uint64{0, midnight, noon - 1, noon, next - 1} {
		start, end := w.Around(now*nanosPerSec, noon)
		assert.Equal(t, noon, start, "at %d", now)
		assert.Equal(t, next, end, "at %d", now)
	}
	start, end := w.Around(next*nanosPerSec, noon)
	assert.Equal(t, next, start)
	assert.Equal(t, next+daySeconds, end)
}

func seconds(year int, month time.Month, day, hour int) uint64 {
	return uint64(time.Date(year, month, day, hour, 0, 0, 0, time.UTC).Unix())
}

func TestWindows_ManyGoroutines(t *testing.T) {
	w := New(Day, 0, berlin(t))
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0))
			for range 2000 {
				now, known := seconds(2026, 10, 24, 0)+random.Uint64N(3*daySeconds), random.Uint64N(2)*seconds(2026, 10, 25, 0)
				checkAround(t, w, now*nanosPerSec, known)
			}
		})
	}
	wg.Wait()
}

// checkAround compares the answer with the calendar's own.
func checkAround(t *testing.T, w *Windows, now, known uint64) {
	from, to := w.around(int64(max(now, known*nanosPerSec) / nanosPerSec))
	start, end := w.Around(now, known)
	assert.Equal(t, max(uint64(from), known), start, "%+v at %d, %d known", w.calendar, now, known)
	assert.Equal(t, uint64(to), end, "%+v at %d, %d known", w.calendar, now, known)
}

// FuzzWindows holds any calendar in any zone against what its clocks show: a window contains the
// instant, follows the one before, and ends where the observer sees another one begin.
func FuzzWindows(f *testing.F) {
	zones := zonesOfGo(f)
	for u := range byte(6) {
		f.Add(u, byte(1), uint16(u)*61, uint64(1_774_746_000), uint64(0))
		f.Add(u, byte(31), uint16(u)*53+7, uint64(2_240_568_000), uint64(1_774_746_000))
	}
	f.Fuzz(func(t *testing.T, u, first byte, zone uint16, now, known uint64) {
		c := calendar{unit: Minute + Unit(u%6), zone: zones[int(zone)%len(zones)]}
		c.start = map[Unit]int{Week: int(first % 7), Month: 1 + int(first%31), Year: 1 + int(first%12)}[c.unit]
		now, known = now%(math.MaxInt64/nanosPerSec), known%(math.MaxInt64/nanosPerSec)

		start, end := c.around(int64(now))
		require.True(t, start <= int64(now) && int64(now) < end, "%v %+v at %d: %d to %d", c.zone, c, now, start, end)
		for _, at := range []int64{start, start + (end-start)/2, end - 1} {
			s, e := c.around(at)
			require.Equal(t, []int64{start, end}, []int64{s, e}, "%v %+v at %d", c.zone, c, at)
		}
		next, _ := c.around(end)
		require.Equal(t, end, next, "%v %+v", c.zone, c)
		before, after := see(end-1, c.zone).window(c), see(end, c.zone).window(c)
		require.True(t, before < after || c.unit <= Hour && before != after, "%v %+v at %d", c.zone, c, end)

		w := &Windows{calendar: c}
		checkAround(t, w, now*nanosPerSec, 0)
		checkAround(t, w, now*nanosPerSec, uint64(start))
		checkAround(t, w, now*nanosPerSec, known)
		checkAround(t, w, uint64(end)*nanosPerSec, uint64(start))
		checkAround(t, w, 0, uint64(start))
	})
}
