package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options is the command line.
type options struct {
	policies  []string // the names of those to run
	rate      int
	per       time.Duration
	burst     int
	buckets   int
	fromFirst bool

	input   string // a file; "" is standard input
	lines   int    // so many lines are generated instead of read; 0 is none
	offer   int    // lines a second that the input offers; 0 is as many as are taken
	outages []time.Duration

	out, left, plot string
}

const all = "all"

// parse reads the command line. An error names the value and what is allowed. Asked for help, it
// writes the usage to help and returns flag.ErrHelp.
func parse(args []string, help io.Writer) (options, error) {
	o := options{policies: []string{"token-bucket"}, rate: 100, per: time.Second}
	fs := flag.NewFlagSet("sendrate", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Func("policy", "`name`: "+strings.Join(policyNames, ", ")+" (default token-bucket),\n"+
		"or all, which runs each on the same input at the same time", o.setPolicy)
	atLeast(fs, &o.rate, 1, "rate", "send `n` lines per -per (default 100)")
	fs.Func("per", "the `time` in which -rate lines go (default 1s)", o.setPer)
	atLeast(fs, &o.burst, 0, "burst", "token-bucket: `n` lines can go at once, and so make up for what came late (default 0: -rate)")
	atLeast(fs, &o.buckets, 0, "buckets", "sliding-window: `n` sub-windows (default 0: one)")
	fs.BoolVar(&o.fromFirst, "from-first", false,
		"fixed-window: a window starts with its first line, not on the clock's second")
	atLeast(fs, &o.lines, 1, "lines", "generate `n` lines instead of reading any")
	atLeast(fs, &o.offer, 0, "offer", "the input offers `n` lines a second, and after an outage those of it at once\n"+
		"(default 0: as many as are taken)")
	fs.Func("outage", "`times` at which the input pauses for a second, such as 4s,6s", o.setOutages)
	fs.StringVar(&o.out, "out", "", "append the lines sent to `file`; - is standard output (default: count them only)")
	fs.StringVar(&o.left, "left", "", "append the lines that an interrupt or error leaves unsent to `file`")
	fs.Func("plot", "draw the lines sent in each tenth of a second into `file`, .svg or .png", o.setPlot)

	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(help, "Usage: sendrate [flags] [file]\n\n"+
				"Sends each line of the file, or of standard input, no faster than -rate per -per.\n\n")
			fs.SetOutput(help)
			fs.PrintDefaults()
		}
		return options{}, err
	}
	if fs.NArg() > 1 {
		return options{}, fmt.Errorf("arguments %q, must be at most one file", fs.Args())
	}
	o.input = fs.Arg(0)
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	return o, o.check(set)
}

// check finds faults that lie between flags, and those that the policies find.
func (o *options) check(set map[string]bool) error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, f := range []struct{ flag, policy string }{
		{"burst", "token-bucket"},
		{"buckets", "sliding-window"},
		{"from-first", "fixed-window"},
	} {
		if set[f.flag] && !slices.Contains(o.policies, f.policy) {
			fault("-%s with -policy %s, must be with %s or all", f.flag, o.policies[0], f.policy)
		}
	}
	if o.lines > 0 && o.input != "" {
		fault("-lines %d and the file %q, must be one of them", o.lines, o.input)
	}
	if len(o.policies) > 1 {
		if o.lines == 0 && o.input == "" {
			fault("-policy all with standard input, must be with a file or -lines, to read them once a policy")
		}
		for _, name := range []string{"out", "left"} {
			if set[name] {
				fault("-policy all with -%s, must be without: each policy sends every line", name)
			}
		}
	}
	for _, name := range o.policies {
		if _, err := o.policy(name).Decider(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (o *options) setPolicy(s string) error {
	switch {
	case s == all:
		o.policies = policyNames
	case slices.Contains(policyNames, s):
		o.policies = []string{s}
	default:
		return fmt.Errorf("must be one of %s, %s", strings.Join(policyNames, ", "), all)
	}
	return nil
}

func (o *options) setPer(s string) error {
	per, err := time.ParseDuration(s)
	if err != nil || per <= 0 {
		return errors.New("must be a time above 0, such as 1s, 500ms or 1h")
	}
	o.per = per
	return nil
}

func (o *options) setOutages(s string) error {
	o.outages = nil
	for field := range strings.SplitSeq(s, ",") {
		at, err := time.ParseDuration(field)
		if err != nil || at < 0 {
			return errors.New("must be times since the start, at least 0s, with commas between them, such as 4s,6s")
		}
		o.outages = append(o.outages, at)
	}
	slices.SortFunc(o.outages, cmp.Compare[time.Duration])
	return nil
}

func (o *options) setPlot(s string) error {
	if ext := filepath.Ext(s); ext != ".svg" && ext != ".png" {
		return errors.New("must end in .svg or .png")
	}
	o.plot = s
	return nil
}

// atLeast adds a flag for a whole number.
func atLeast(fs *flag.FlagSet, n *int, least int, name, usage string) {
	fs.Func(name, usage, func(s string) error {
		v, err := strconv.Atoi(s)
		if err != nil || v < least {
			return fmt.Errorf("must be a whole number, at least %d", least)
		}
		*n = v
		return nil
	})
}
