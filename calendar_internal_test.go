package weir

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func calendarDecider(t *testing.T, p CalendarWindow) *windowWord {
	d, err := p.Decider()
	require.NoError(t, err)
	return d.(*windowWord)
}

// Nobody asks the calendar again for the window of the latest decision; and sweeping over states
// of windows long ago changes nothing in that.
func TestCalendar_TheWindowOfTheLatestDecisionIsKept(t *testing.T) {
	d := calendarDecider(t, CalendarWindow{Limit: 3, Unit: Month, Location: "Europe/Berlin"})
	old, _ := d.DecideWord(0, time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC).UnixNano(), Ask{N: 1})
	now := time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC).UnixNano()
	start := time.Date(2026, 10, 31, 23, 0, 0, 0, time.UTC)
	end := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)

	_, granted := d.admitWord(old, now)
	require.True(t, granted)
	assert.Equal(t, start.UnixNano(), d.Expiry([]uint64{old}))
	latest := span(d.spans.(*calendarSpans).latest.Load())
	assert.Equal(t, uint64(start.Unix()), latest.start())
	assert.Equal(t, uint64(end.Unix()), latest.end())
}

// The short ways of Allow and Take decide as Decide does, on any state and at any instant.
func TestCalendar_AdmitIsDecide(t *testing.T) {
	d := calendarDecider(t, CalendarWindow{Limit: 3, Unit: Hour, Location: "Asia/Kathmandu"})
	assert.Implements(t, (*wordAdmitter)(nil), d)
	t0 := time.Date(2026, 11, 21, 13, 15, 0, 0, time.UTC).UnixNano() // a full hour there
	for counted := range 6 {
		state, _ := d.DecideWord(0, t0, Ask{N: counted, Mode: Regardless})
		for _, off := range []time.Duration{-48 * time.Hour, -time.Hour, -1, 0, 1, time.Hour - 1, time.Hour, 48 * time.Hour} {
			now := t0 + int64(off)
			want, a := d.DecideWord(state, now, Ask{N: 1})
			got, granted := d.admitWord(state, now)
			assert.Equal(t, a.Allowed, granted, "%d counted, after %v", counted, off)
			assert.Equal(t, want, got, "%d counted, after %v", counted, off)
			got, r := d.takeWord(state, now, 1)
			assert.Equal(t, want, got)
			assert.Equal(t, a.short(), r)
		}
	}
}
