package main

import (
	"fmt"
	"io"
	"time"
)

// A day is the figures of one day.
type day struct {
	date    time.Time
	mailing int
	codes   int
	slowest time.Duration   // the longest wait of a code
	held    []time.Duration // how long each quota held the mailing back
}

func (d *day) code(waited time.Duration) {
	d.codes++
	d.slowest = max(d.slowest, waited)
}

func (d *day) heldBack(part int, wait time.Duration) {
	if wait > 0 {
		d.held[part] += wait
	}
}

// days are the days that have begun.
type days []*day

// at returns the day of an instant, which is never before those of earlier calls.
func (ds *days) at(now time.Time) *day {
	date := now.Truncate(24 * time.Hour)
	if n := len(*ds); n > 0 && (*ds)[n-1].date.Equal(date) {
		return (*ds)[n-1]
	}
	d := &day{date: date, held: make([]time.Duration, len(contract))}
	*ds = append(*ds, d)
	return d
}

func (g *gateway) report(out io.Writer, mailing int) {
	fmt.Fprintf(out, "%10s  %7s  %6s   hours that the mailing was held back by the quota of a\n%10s  %7s  %6s ",
		"", "mailing", "codes", "", "", "")
	for _, q := range contract {
		fmt.Fprintf(out, " %6v", q.unit)
	}
	fmt.Fprintln(out)
	codes, slowest := 0, time.Duration(0)
	for _, d := range *g.days {
		fmt.Fprintf(out, "%s  %7d  %6d ", d.date.Format("Mon _2 Jan"), d.mailing, d.codes)
		for _, held := range d.held {
			fmt.Fprintf(out, " %6.1f", held.Hours())
		}
		fmt.Fprintln(out)
		codes += d.codes
		slowest = max(slowest, d.slowest)
	}
	fmt.Fprintf(out, "\nsent %d of %d messages of the mailing, and %d codes; a code waited %v at most\n",
		mailing-g.left, mailing, codes, slowest.Round(time.Second))
	fmt.Fprint(out, "the provider counted at most")
	for i, q := range contract {
		fmt.Fprintf(out, " %d per %v,", g.provider.most[i], q.unit)
	}
	fmt.Fprintf(out, " and refused %d\n", g.provider.refused)
}
