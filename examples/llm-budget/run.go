package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"
)

// options is the command line.
type options struct {
	callers, minutes int
	settle           bool
}

// parse reads the command line. An error names the value and what is allowed.
func parse(args []string, help io.Writer) (options, error) {
	o := options{callers: 60, minutes: 6}
	fs := flag.NewFlagSet("llm-budget", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	number(fs, &o.callers, "callers", 1, 10_000, "`n` callers at a time")
	number(fs, &o.minutes, "minutes", 1, 600, "run for `n` minutes, of a second each")
	fs.BoolVar(&o.settle, "settle", true, "settle for what was used; if false, the estimates stay")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, "Usage: llm-budget [flags]\n\nShares a model's tokens and requests a minute among callers.\n\n")
		fs.SetOutput(help)
		fs.PrintDefaults()
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("argument %q, must be none", fs.Arg(0))
	}
	return o, err
}

// number adds a flag for a whole number from least to most.
func number(fs *flag.FlagSet, n *int, name string, least, most int, usage string) {
	fs.Func(name, fmt.Sprintf("%s (default %d)", usage, *n), func(s string) error {
		v, err := strconv.Atoi(s)
		if err != nil || v < least || v > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*n = v
		return nil
	})
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "llm-budget: %v\nllm-budget -h shows all flags.\n", err)
		return 2
	}
	l := &load{budget: newBudget(), settle: o.settle}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.minutes)*minute)
	defer cancel()
	err = l.run(ctx, o.callers)
	l.report(stdout, o)
	if err != nil {
		fmt.Fprintf(stderr, "llm-budget: %v\n", err)
		return 1
	}
	return 0
}

// report prints what was done in each whole minute, and in all of them.
func (l *load) report(out io.Writer, o options) {
	fmt.Fprintln(out, "minute  calls  refused  gave up  estimated    used  given back  overdrawn")
	var sum tally
	for i, t := range l.minutes {
		if i < o.minutes { // what ended with the program is not of a minute of its own
			t.row(out, strconv.Itoa(i+1))
		}
		sum.add(t)
	}
	sum.row(out, "all")
	allowed := tokensAMinute.Burst + o.minutes*tokensAMinute.Limit
	fmt.Fprintf(out, "\nused %d of the %d tokens that the budget allows in that time, in %d calls; the estimates were %d\n",
		sum.used, allowed, sum.calls, sum.estimated)
}

func (t tally) row(out io.Writer, name string) {
	fmt.Fprintf(out, "%6s %6d %8d %8d %10d %7d %11d %10d\n", name, t.calls, t.refused, t.gaveUp, t.estimated, t.used, t.back, t.over)
}

func (t *tally) add(other tally) {
	t.calls += other.calls
	t.refused += other.refused
	t.gaveUp += other.gaveUp
	t.estimated += other.estimated
	t.used += other.used
	t.back += other.back
	t.over += other.over
}
