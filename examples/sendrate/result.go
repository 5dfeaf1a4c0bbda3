package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// results are what the workers of one run did.
type results struct {
	even     float64 // lines that go in a tenth of a second if the rate is spread evenly
	outages  []time.Duration
	policies []result
}

// A result is what one worker did.
type result struct {
	policy string
	sent   int
	took   time.Duration // until the last line went
	tenths histogram
}

// manyTimes is above how many times the even share a tenth counts as busy. Timers that are late put
// a line more or less into any.
const manyTimes = 1.5

// busy is the number of lines above which a tenth is busy. It is at least one: at a low rate
// every tenth with a line in it is above its share.
func (r *results) busy() float64 { return max(manyTimes*r.even, 1) }

// resumed is how many lines went in the first tenth after each outage. The outages that ended after
// the last line went are left out.
func (r *results) resumed(p result) []int {
	var lines []int
	for _, o := range r.outages {
		if end := o + outageLength; end <= p.took {
			lines = append(lines, p.tenths.at(end))
		}
	}
	return lines
}

// release says what lines in the first tenth after an outage mean: atOnce if it is at least half
// of all that the rate allows in the time of the outage, spread if it is about the
// share of a tenth, and else partly.
func (r *results) release(lines int) string {
	switch missed := r.even * float64(outageLength/tenth); {
	case float64(lines) <= r.busy():
		return spread
	case float64(lines) >= missed/2:
		return atOnce
	default:
		return partly
	}
}

const (
	atOnce = "at once"
	partly = "partly at once"
	spread = "spread"
)

// reading is a line on what the chart of p shows.
func (r *results) reading(p result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "largest tenth %d, even share %s, %s over %s", p.tenths.largest(), short(r.even),
		plural(p.tenths.above(r.busy()), "tenth"), short(r.busy()))
	between := "; after outages "
	for _, lines := range r.resumed(p) {
		fmt.Fprintf(&b, "%s%d %s", between, lines, r.release(lines))
		between = ", "
	}
	return b.String()
}

// write writes the charts, and to compare several policies, a table.
func (r *results) write(w io.Writer) error {
	width := terminalWidth(w)
	if width == 0 {
		width = noWidth
	}
	if err := r.writeCharts(w, width); err != nil || len(r.policies) == 1 {
		return err
	}
	return r.summary(w)
}

// summary writes a table with a row for each policy.
func (r *results) summary(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\tlines\tin\tlargest tenth\tover %s", short(r.busy()))
	for _, o := range r.outages {
		fmt.Fprintf(t, "\tafter %v", o+outageLength)
	}
	fmt.Fprintln(t)
	for _, p := range r.policies {
		fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%s", p.policy, p.sent, seconds(p.took), p.tenths.largest(),
			plural(p.tenths.above(r.busy()), "tenth"))
		for _, lines := range r.resumed(p) {
			fmt.Fprintf(t, "\t%d %s", lines, r.release(lines))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// short is f with the digits that matter to a reader.
func short(f float64) string {
	if f >= 1000 {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.3g", f)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
