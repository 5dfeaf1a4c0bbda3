package line

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/exact"
)

// Ten slots take 33 ns and a third. Those behind move to the slots of those before them, each
// rounded up by itself, and not each time a little less.
func TestLine_GivenBackKeepsTheSlots(t *testing.T) {
	var (
		ls     Lines
		rate   = exact.NewRate(3, 10)
		ws     []*Waiter
		booked int64 // events
	)
	paid := func(events int64) exact.Instant { return rate.Instant(exact.Uint128{Lo: uint64(3*1000 + 10*events)}) }
	under(&ls, Joining, func(ln *Line) {
		for i := range 12 {
			w := ln.waiter(1 + i%3)
			r := bookedSlots(paid(booked), paid(booked+int64(w.N)), rate, w.N)
			w.Place(r)
			booked += int64(w.N)
			ws = append(ws, w)
		}
	})
	for _, leave := range []int{3, 0, 7, 6} {
		under(&ls, Returning, func(ln *Line) {
			require.True(t, ws[leave].Leave(nil))
			back, ok := ws[leave].Back()
			require.True(t, ok)
			ws = slices.Delete(ws, leave, leave+1)
			booked -= int64(back.N)
			up := rate.Floor(rate.Cost(uint64(back.N)))
			ln.GivenBack(back, Freed{Up: up, Rest: rate.Cost(uint64(back.N)).Sub(rate.Units(int64(up))).Lo})
		})
		events := int64(0)
		for i, w := range ws {
			require.Equal(t, paid(events).NS, w.at, "place %d", i)
			events += int64(w.N)
		}
	}
}

// bookedSlots is the reply by which one books n slots of a queue.
func bookedSlots(start, end exact.Instant, rate exact.Rate, n int) *Reply {
	r := booked(999, start.NS, end.NS, 999, start.NS)
	r.N, r.Start, r.End, r.Pace = n, start, end, Pace{rate, n}
	return r
}

// Waiters do not move up to before time began, or past each other, however much is given back.
func TestLine_GivenBackMoreThanThereIs(t *testing.T) {
	var ls Lines
	under(&ls, Joining, func(ln *Line) {
		ln.waiter(1).Place(booked(1, 1, 10, 1, 10))
		ln.waiter(1).Place(booked(1, 20, 30, 1, 20))
	})
	ln := ls.all["k"]
	back := func() {
		for range 3 {
			ln.GivenBack(ln.backOfRun(1, nil, nil), Freed{Up: 1 << 62})
		}
	}
	a, b := ln.ends.next, ln.ends.prev
	back()
	requireLine(t, &ls, []naivePlace{{a, 10, 10}, {b, 10, 10}})
	b.Drop(nil)
	back()
	requireLine(t, &ls, []naivePlace{{a, 0, 0}})
}

// The context of a waiter ends while it is given a new turn. If that turn would be too late as well,
// its error stays that of the context.
func TestLine_TheFirstErrorStays(t *testing.T) {
	var ls Lines
	under(&ls, Renewing, func(ln *Line) {
		w := ln.waiter(1)
		w.Place(&Reply{Delay: 10})
		require.True(t, w.Leave(context.Canceled))
		w.Drop(errors.New("too late"))
		require.Equal(t, context.Canceled, w.Err())
	})
	require.Empty(t, ls.all)
}
