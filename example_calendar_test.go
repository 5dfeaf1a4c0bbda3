package weir_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weir-go/weir"
)

// A plan of a thousand messages a month. This customer pays on the 31st, and so on the last day of
// shorter months, by clocks in Berlin, which are put forward in March.
func ExampleCalendarWindow() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	now := clock.NewMock()
	plan := weir.Must(weir.New(
		weir.CalendarWindow{Limit: 1000, Unit: weir.Month, Location: "Europe/Berlin", Start: 31},
		weir.WithClock(now)))

	now.Set(time.Date(2026, time.February, 27, 12, 0, 0, 0, berlin))
	for range 3 {
		r, _ := plan.Take(context.Background(), "ada", 1000)
		back := now.Now().Add(r.ResetAfter)
		fmt.Println(r.Allowed, "and all are back on", back.In(berlin).Format(time.RFC1123))
		now.Set(back)
	}

	// Output:
	// true and all are back on Sat, 28 Feb 2026 00:00:00 CET
	// true and all are back on Tue, 31 Mar 2026 00:00:00 CEST
	// true and all are back on Thu, 30 Apr 2026 00:00:00 CEST
}
