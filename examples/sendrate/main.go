// Command sendrate is a push sender's worker. It sends the lines of a file, or of standard input,
// no faster than a rate, under one of weir's policies, and shows when they went.
//
//	go run ./examples/sendrate -rate 100 -out sent.txt -left unsent.txt lines.txt
//	producer | go run ./examples/sendrate -policy leaky-bucket -rate 5 -per 1m -out - | consumer
//
// To send a line is to write it to -out; a sender of one's own has its call to a provider there. A
// single worker sends, so the lines go in the order in which they came, and to the byte: a line may
// be of any length, and the last one need not end in a newline.
//
// No line is lost. Ctrl-C, or SIGTERM, stops the reading, finishes the line that is being sent, says
// how many lines are sent and how many are left, and saves the latter in -left; to send those later,
// give that file as the input. Of a pipe, what is left is what has been read of it. A second Ctrl-C
// ends the program at once. A fault of the input or the output does the same as Ctrl-C. Where a
// write fails in the middle of a line, the whole line is left as well.
//
// The exit code is 0 if all lines are sent, 1 after a fault, 2 if a flag is wrong, 130 after
// Ctrl-C and 143 after SIGTERM. (go run makes them all 1.) Flag -h shows all flags.
//
// # The experiment
//
// What is each policy like, and what does it do after the input has paused for a second? To see it,
// run them all on the same input, which has a line whenever one is asked for, but for two pauses:
//
//	go run ./examples/sendrate -policy all -lines 10000 -rate 1000 -outage 4s,6s -plot all.png
//
// It takes about 12 seconds, starts on a whole second, as windows do, and ends with a bar chart for
// each policy, how many lines went in each tenth of a second, and a table. On the axis of a
// chart ░ is a pause. The line that goes in one was taken before it.
//
//	token-bucket: 10000 lines in 9.0 s
//	 1099 ┤▇                                                 ▇
//	      │█                                                 █
//	      │█                                                 █
//	      │█                                                 █
//	      │█▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▁         █▃▃▃▃▃▃▃▃▃▁
//	    0 ┼┬─────────┬─────────┬─────────┬─────────░░░░░░░░░░┬─────────░░░░░░░░░░
//	       0s        1s        2s        3s        4s        5s        6s
//	 1099 ┤█
//	      │█
//	      │█
//	      │█
//	      │█▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▁
//	    0 ┼┬─────────┬─────────┬
//	       7s        8s        9s
//	largest tenth 1099, even share 100, 3 tenths over 150; after outages 1098 at once, 1099 at once
//
//	                lines  in      largest tenth  over 150   after 5s      after 7s
//	token-bucket    10000  9.0 s   1099           3 tenths   1098 at once  1099 at once
//	leaky-bucket    10000  12.1 s  101            0 tenths   99 spread     100 spread
//	fixed-window    10000  11.0 s  1000           10 tenths  1000 at once  1000 at once
//	sliding-window  10000  12.0 s  1000           3 tenths   1000 at once  1000 at once
//	sliding-log     10000  11.0 s  1000           10 tenths  1000 at once  1000 at once
//
// So a receiver that bears no bursts wants the leaky bucket, or a token bucket with a small -burst.
// The leaky bucket saves nothing, not even the time by which a timer was late: hence its 12.1 s,
// where 12.0 s would do. A -burst of a few lines makes up for that.
//
// With -offer 1000 the input is as even as the rate, and after a pause has all at once that came due
// in it. All policies let it pass evenly at first; the fixed window and the log do not
// find back to that after the first pause.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A closed standard output is then an error of the write, which is reported like any other.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(interruptible(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// An interruption is why the context of [interruptible] ended.
type interruption struct{ os.Signal }

func (i interruption) Error() string { return i.String() }

// exitCode is what shells say of a program that the signal ended.
func (i interruption) exitCode() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 1
}

// interruptible returns a context that ends, with an interruption as its cause, at the first SIGINT
// or SIGTERM. A second one kills the program, as it does any other.
func interruptible() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals)
		cancel(interruption{s})
	}()
	return ctx
}
