package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/weir-go/weir/cmd/weir/internal/explain"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
)

// writeText writes a result for people.
func writeText(w io.Writer, r replayed) error {
	t := &text{Writer: w}
	t.log(r.Report)
	if r.Requests > 0 {
		t.table(r.Report)
		t.over(r.Report)
		for _, p := range r.Policies {
			t.worst(p)
		}
		t.fits(r)
	}
	return t.err
}

// text keeps the first error of writing.
type text struct {
	io.Writer
	err error
}

func (t *text) Write(b []byte) (int, error) {
	if t.err == nil {
		_, t.err = t.Writer.Write(b)
	}
	return len(b), nil
}

func (t *text) columns(flags uint) *tabwriter.Writer {
	return tabwriter.NewWriter(t, 0, 0, 3, ' ', flags)
}

// log says what was read, and what is uncertain about it.
func (t *text) log(r *replay.Report) {
	for _, f := range r.Files {
		format := f.Format + ", "
		if f.Format == "" { // of an empty log
			format = ""
		}
		fmt.Fprintf(t, "%s: %s%s", clean(f.Name), format, explain.Plural(f.Lines, "line", "lines"))
		if f.Bad > 0 {
			fmt.Fprintf(t, ", %s of them not understood (-bad shows them), the first is %s", explain.Count(f.Bad), f.FirstBad)
		}
		if f.Ignored > 0 {
			fmt.Fprintf(t, ", %s after the end of the gzip ignored", explain.Plural(int(f.Ignored), "byte", "bytes"))
		}
		fmt.Fprintln(t)
	}
	if r.Unselected > 0 {
		fmt.Fprintf(t, "%s left out by -where.\n", explain.Plural(r.Unselected, "request was", "requests were"))
	}
	if r.Requests == 0 {
		return
	}
	const stamp = "2006-01-02 15:04:05"
	fmt.Fprintf(t, "%s of %s (by %s) in %s, from %s to %s UTC.\n", explain.Plural(r.Requests, "request", "requests"),
		explain.Plural(r.Clients, "client", "clients"), r.Key, roughly(r.To.Sub(r.From)), r.From.Format(stamp), r.To.Format(stamp))
	switch {
	case r.Spread:
		fmt.Fprintln(t, "The log has whole seconds. The requests of a second are spread over it (-spread=false: all at its start).")
	case r.Whole > 0:
		fmt.Fprintln(t, "The log has whole seconds. The requests of a second all count at its start, which usually refuses too many.")
	}
	if r.Costless > 0 {
		fmt.Fprintf(t, "%s no field for -cost, and cost nothing.\n", explain.Plural(r.Costless, "request has", "requests have"))
	}
	if r.Late > 0 {
		fmt.Fprintf(t, "%s far out of order in the log, and counted later than sent.\n", explain.Plural(r.Late, "request was", "requests were"))
	}
	if r.Stopped {
		fmt.Fprintln(t, "Stopped: the rest of the log is not counted.")
	}
}

func (t *text) table(r *replay.Report) {
	fmt.Fprintln(t)
	rows := t.columns(tabwriter.AlignRight)
	fmt.Fprintln(rows, "refused\tshare\tclients hit\tshare\tlongest shut out\tearly\t  policy")
	for _, p := range r.Policies {
		longest, early := "-", "-"
		if p.Refused > 0 {
			longest, early = roughly(p.LongestShutOut), percent(float64(p.Early)/float64(p.Refused))
		}
		fmt.Fprintf(rows, "%s\t%s\t%s\t%s\t%s\t%s\t  %s\n",
			explain.Count(p.Refused), percent(float64(p.Refused)/float64(r.Requests)),
			explain.Count(p.Hit), percent(float64(p.Hit)/float64(r.Clients)),
			longest, early, p.Policy)
	}
	rows.Flush()
	fmt.Fprintln(t, "\nearly: refused requests that came before the Retry-After of the previous refusal had passed.")
	fmt.Fprintln(t, "A client that waits would not have sent them. The log cannot tell what it would have sent instead.")
}

// over draws a line of bars for the requests, and for the refused ones of each policy.
func (t *text) over(r *replay.Report) {
	fmt.Fprintf(t, "\nOver time, a bar for %s:\n", explain.Duration(r.Width))
	rows := t.columns(0)
	fmt.Fprintf(rows, "  %s\tmost %s\trequests\n", bars(r.Over), explain.Count(slices.Max(r.Over)))
	for _, p := range r.Policies {
		fmt.Fprintf(rows, "  %s\tmost %s\trefused by %s\n", bars(p.Over), explain.Count(slices.Max(p.Over)), p.Policy)
	}
	rows.Flush()
}

// bars is a bar for each number. The largest is a full block, and 0 a dot.
func bars(numbers []int) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	most := slices.Max(numbers)
	var b strings.Builder
	for _, n := range numbers {
		if n == 0 {
			b.WriteRune('·')
			continue
		}
		b.WriteRune(blocks[int(float64(n)/float64(most)*float64(len(blocks)-1)+0.5)])
	}
	return b.String()
}

func (t *text) worst(p replay.Verdict) {
	if p.Refused == 0 {
		return
	}
	fmt.Fprintf(t, "\nRefused by %s:\n", p.Policy)
	rows := t.columns(tabwriter.AlignRight)
	fmt.Fprintln(rows, "refused\tof requests\tshut out\t  client")
	for _, c := range p.Worst {
		fmt.Fprintf(rows, "%s\t%s\t%s\t  %s\n", explain.Count(c.Refused), explain.Count(c.Requests), roughly(c.ShutOut), clean(c.Key))
	}
	rows.Flush()
	if len(p.Networks) == 0 {
		return
	}
	rows = t.columns(tabwriter.AlignRight)
	fmt.Fprintln(rows, "refused\tclients hit\tshare\t  network")
	for _, n := range p.Networks {
		fmt.Fprintf(rows, "%s\t%s\t%s\t  %s\n", explain.Count(n.Refused), explain.Count(n.Clients), percent(float64(n.Refused)/float64(p.Refused)), n.Prefix)
	}
	rows.Flush()
}

func (t *text) fits(r replayed) {
	for i, fits := range r.Fits {
		fmt.Fprintf(t, "\nThe smallest limits like %s:\n", r.Policies[i].Policy)
		rows := t.columns(tabwriter.AlignRight)
		fmt.Fprintln(rows, "to hit fewer than\tclients hit\t  policy")
		for j, f := range fits {
			policy, hit := f.Policy, explain.Count(f.Hit)
			if policy == "" {
				policy, hit = "none: requests of one instant are too many for any limit", "-"
			}
			fmt.Fprintf(rows, "%s\t%s\t  %s\n", r.shares[j], hit, policy)
		}
		rows.Flush()
	}
}

// percent writes a share in percent, with at most two decimals, or with more if it is below 0.1%.
func percent(share float64) string {
	digits := 2
	for x := share * 100; x > 0 && x < 0.1 && digits < 6; x *= 10 {
		digits++
	}
	s := fmt.Sprintf("%.*f", digits, share*100)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + "%"
}

// roughly writes a duration as [explain.Duration] does, after rounding it to a second, or below ten
// seconds to a millisecond.
func roughly(d time.Duration) string {
	if d >= 10*time.Second {
		return explain.Duration(d.Round(time.Second))
	}
	if d = d.Round(time.Millisecond); d > 0 {
		return explain.Duration(d)
	}
	return "0s"
}

// clean puts dots in place of the characters of key that a terminal would obey or not show.
func clean(key string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '.'
	}, strings.ToValidUTF8(key, "."))
}

func lines(r *replay.Report) int {
	n := 0
	for _, f := range r.Files {
		n += f.Lines
	}
	return n
}
