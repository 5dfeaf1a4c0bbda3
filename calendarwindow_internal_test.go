package weir

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An expiry is asked for at the start of the window that the state counted in, and the calendar
// then keeps the window of the latest decision.
func TestCalendar_ExpiryAsksAtTheStart(t *testing.T) {
	asked := &askedSpans{calendarSpans: CalendarWindow{Unit: Month}.spans(time.UTC)}
	d := window{3, nanosPerSec, asked}.decider(calendarBits).(*windowWord)
	state, _ := d.DecideWord(0, time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC).UnixNano(), Ask{N: 1})

	assert.Equal(t, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).UnixNano(), d.Expiry([]uint64{state}))
	start := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	assert.Equal(t, uint64(start.Unix()), asked.known)
	assert.Equal(t, uint64(start.UnixNano()), asked.now)
}

// askedSpans record what they were asked for last.
type askedSpans struct {
	*calendarSpans
	known, now uint64
}

func (a *askedSpans) around(s words, now uint64) (mark, end uint64) {
	a.known, a.now = s.first, now
	return a.calendarSpans.around(s, now)
}

// The short ways of Allow and Take decide as Decide does, on any state and at any instant.
func TestCalendar_AdmitIsDecide(t *testing.T) {
	decider, err := CalendarWindow{Limit: 3, Unit: Hour, Location: "Asia/Kathmandu"}.Decider()
	require.NoError(t, err)
	d := decider.(*windowWord)
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
