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
type options struct{ mailing, codes, days int }

// parse reads the command line. An error contains the value and the allowed ones.
func parse(args []string, help io.Writer) (options, error) {
	o := options{mailing: 5_000_000, codes: 12, days: 31}
	fs := flag.NewFlagSet("sms-gateway", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	number(fs, &o.mailing, "mailing", 0, 1_000_000_000, "send a mailing of `n` messages")
	number(fs, &o.codes, "codes", 1, 1000, "`n` codes come a minute, on average")
	number(fs, &o.days, "days", 1, 365, "run for `n` days")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, "Usage: sms-gateway [flags]\n\nSimulates a month of messages under five limits at once.\n\n")
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
		fmt.Fprintf(stderr, "sms-gateway: %v\nsms-gateway -h shows all flags.\n", err)
		return 2
	}
	g, err := newGateway(o)
	if err == nil {
		err = g.work(ctx, start.Add(time.Duration(o.days)*24*time.Hour))
		g.report(stdout, o.mailing)
	}
	if err != nil {
		fmt.Fprintf(stderr, "sms-gateway: %v\n", err)
		return 1
	}
	if g.provider.refused > 0 {
		return 1
	}
	return 0
}
