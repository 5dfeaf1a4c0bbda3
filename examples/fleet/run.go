package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/weir-go/weir"
)

// Exit codes.
const (
	exitDone        = 0
	exitFault       = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		fmt.Fprintf(stderr, "fleet: %v\nfleet -h shows all flags.\n", err)
		return exitUsage
	}
	results, err := o.try(ctx, stdout)
	if len(results) > 0 {
		fmt.Fprintln(stdout)
		err = errors.Join(err, writeTable(stdout, results), o.draw(results, stdout))
	}
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "fleet: %v\n", err)
		return exitFault
	case ctx.Err() != nil:
		return exitInterrupted
	}
	return exitDone
}

// policy is the limit. Its window is as long as the time allows, in whole milliseconds.
func (o options) policy() weir.FixedWindow {
	per := (o.time / time.Duration(len(ways)*allWindows)).Truncate(time.Millisecond)
	return weir.FixedWindow{Limit: int(int64(o.rate) * per.Milliseconds() / 1000), Per: per}
}

// try tries its ways, until ctx ends.
func (o options) try(ctx context.Context, stdout io.Writer) (results []result, err error) {
	store, stop, err := o.startStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	policy := o.policy()
	fmt.Fprintf(stdout, "%d nodes share the limit %v, which is │ below. %d times as many requests come.\n", nodes, policy, overload)
	for _, w := range ways {
		if ctx.Err() != nil {
			break
		}
		t := trial{way: w, policy: policy, store: store, out: stdout}
		err := t.run(ctx)
		if r := t.result(); len(r.windows) > 0 {
			results = append(results, r)
		}
		if err != nil {
			return results, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return results, nil
}
