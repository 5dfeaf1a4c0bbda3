package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// The exit codes, besides 128 and the signal's number after an interrupt.
const (
	exitSent   = 0 // all lines are sent
	exitFailed = 1 // a file could not be opened, read or written
	exitUsage  = 2 // the command line is wrong
)

// run is the program. It sends until the input ends or ctx does, and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitSent
	case err != nil:
		complain(stderr, err)
		fmt.Fprintln(stderr, "sendrate -h shows all flags.")
		return exitUsage
	}
	f, err := o.open(stdin, stdout)
	if err != nil {
		complain(stderr, err)
		return exitFailed
	}
	report := stdout
	if o.out == "-" {
		report = stderr // standard output has the lines sent
	}

	workers, errs := o.send(ctx, f, stderr)
	code := exitSent
	for i, w := range workers {
		code = max(code, w.tell(stderr, errs[i], f.left))
	}
	r := o.results(workers)
	if err := errors.Join(r.write(report), r.plotTo(f.plot), f.close()); err != nil {
		complain(stderr, err)
		code = max(code, exitFailed)
	}
	return code
}

// complain writes every fault on a line.
func complain(stderr io.Writer, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(stderr, "sendrate:", line)
	}
}

// send runs a worker for each policy, all at the same time, and returns with what error each ended.
func (o *options) send(ctx context.Context, f *files, stderr io.Writer) ([]*worker, []error) {
	start := time.Now()
	if len(o.policies) > 1 {
		start = nextSecond(start) // a comparison is the same whenever it starts
	}
	workers := make([]*worker, len(o.policies))
	for i, name := range o.policies {
		workers[i] = o.newWorker(name, f.inputs[i], f.out, start)
	}

	stop := make(chan struct{})
	var shown sync.WaitGroup
	width := terminalWidth(stderr)
	if o.out != "-" || terminalWidth(f.out) == 0 { // else it would stand between the lines
		shown.Go(func() { showProgress(stderr, width, start, workers, stop) })
	}
	errs := make([]error, len(workers))
	var sending sync.WaitGroup
	for i, w := range workers {
		sending.Go(func() {
			if errs[i] = sleep(ctx, time.Until(start)); errs[i] == nil {
				errs[i] = w.run(ctx)
			}
		})
	}
	sending.Wait()
	close(stop)
	shown.Wait()
	return workers, errs
}

func (o *options) newWorker(policy string, in *input, out io.Writer, start time.Time) *worker {
	return &worker{
		name:     policy,
		limiter:  weir.Must(weir.New(o.policy(policy))), // parse has checked it
		in:       in,
		out:      out,
		schedule: schedule{o.offer, o.outages},
		start:    start,
	}
}

// nextSecond is the first instant from t on that is a whole second on the clock, at which
// windows of a second start.
func nextSecond(t time.Time) time.Time {
	return t.Add((time.Second - time.Duration(t.Nanosecond())) % time.Second)
}

// tell says how a worker's run ended if it is before the end of the input, and returns
// the exit code. The lines that are left go to left.
func (w *worker) tell(stderr io.Writer, err error, left io.Writer) int {
	if err == nil {
		return exitSent
	}
	lines, rerr := w.in.rest(left)
	unsent := "left unsent"
	if !w.in.finite {
		unsent = "read and left unsent"
	}
	fmt.Fprintf(stderr, "sendrate: %s: %v: %s sent, %d %s\n", w.name, err, plural(int(w.sent.Load()), "line"), lines, unsent)
	if rerr != nil && !errors.Is(err, rerr) {
		complain(stderr, fmt.Errorf("counting what is left: %w", rerr))
		return exitFailed
	}
	if why := new(interruption); errors.As(err, why) {
		return why.exitCode()
	}
	return exitFailed
}

func (o *options) results(workers []*worker) *results {
	r := &results{even: float64(o.rate) * float64(tenth) / float64(o.per), outages: o.outages}
	for _, w := range workers {
		r.policies = append(r.policies, result{w.name, int(w.sent.Load()), w.took, w.tenths})
	}
	return r
}
