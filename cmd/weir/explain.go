package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "say what a policy does: in words, in figures, and as code",
		ArgsUsage: "POLICY",
		Description: "POLICY has the text form that weir.ParsePolicy reads, such as 300/1m or\n" +
			"'all(5/1s, 60/1m)'. Quote it if it has brackets.",
		Action: func(_ context.Context, c *cli.Command) error {
			if !c.Args().Present() {
				return usage("explain needs a POLICY, such as 300/1m or 'all(5/1s, 60/1m)'")
			}
			p, err := explain.Parse(strings.Join(c.Args().Slice(), " "))
			if err != nil {
				return usageError{err}
			}
			return printExplanation(c.Root().Writer, p)
		},
	}
}

func printExplanation(out io.Writer, p weir.Policy) error {
	e, err := explain.Of(p)
	if err != nil {
		return err
	}
	answer, err := deniedAnswer(p)
	if err != nil {
		return err
	}
	w := &bytes.Buffer{}
	section := func(title string, lines ...string) {
		fmt.Fprintf(w, "\n%s\n", title)
		for _, line := range lines {
			fmt.Fprintln(w, strings.TrimRight("  "+line, " "))
		}
	}
	fmt.Fprintln(w, e.Text)
	section("In words", e.Words...)

	fmt.Fprintln(w, "\nWorst case: no client gets more events, one at a time, even if it chooses the moments")
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "at once, new key\t%s\t\n", explain.Count(e.Client.AtOnce))
	for _, worst := range e.Worst {
		fmt.Fprintf(table, "in any %s\t%s\t\n", explain.Exact(worst.Span), explain.Count(worst.Most))
	}
	table.Flush()

	section("A client that takes all at once is then refused", append([]string{
		"Retry after: " + fromTo(e.Client.RetryAfter),
		"All is back after: " + fromTo(e.Client.ResetAfter), "",
	}, answer...)...)
	section("Memory for a key", memoryWords(e.Memory))
	code := "limiter := weir.Must(weir.New(" + e.Code + "))"
	section("Go", strings.Split(code, "\n")...)
	section("JSON, for a field of type weir.AnyPolicy", e.JSON)
	_, err = out.Write(w.Bytes())
	return err
}

// fromTo writes a range of durations: one duration if both ends look the same, and only the upper
// end if the lower one is a nanosecond.
func fromTo(d [2]time.Duration) string {
	from, to := wait(d[0]), wait(d[1])
	switch {
	case from == to:
		return to
	case d[0] == 1:
		return "at most " + to
	}
	return from + " to " + to
}

// wait writes d exactly if it has whole seconds, as the periods of most policies, else rounded.
func wait(d time.Duration) string {
	if d%time.Second == 0 {
		return explain.Exact(d)
	}
	return explain.Duration(d)
}

func memoryWords(m explain.Memory) string {
	words := fmt.Sprintf("%s of 8 bytes", explain.Plural(m.MostWords, "word", "words"))
	if m.NewWords != m.MostWords {
		words = fmt.Sprintf("%d to %s words of 8 bytes, by the events that count", m.NewWords, explain.Count(m.MostWords))
	}
	return fmt.Sprintf("%s. In a MemStore it takes %s to %s bytes in all.", words,
		explain.Count(m.MostBytes[0]), explain.Count(m.MostBytes[1]))
}
