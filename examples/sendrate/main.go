// Command sendrate is a push sender's worker. It sends the lines of a file, or of standard input,
// no faster than a rate, under one of weir's policies. It shows when the lines were sent.
//
//	go run ./examples/sendrate -rate 100 -out sent.txt -left unsent.txt lines.txt
//	producer | go run ./examples/sendrate -policy leaky-bucket -rate 5 -per 1m -out - | consumer
//
// To send a line means to write it to -out. A real sender would call its provider there. A single
// worker sends the lines, in the order in which they came, byte for byte. A line may have any
// length, and the last one need not end in a newline.
//
// No line is lost. Ctrl-C, or SIGTERM, stops the reading and finishes the line that is being sent.
// It then prints how many lines are sent and how many are left, and saves the latter in -left. To
// send those later, give that file as the input. For a pipe, only the lines that have been read are
// left. A second Ctrl-C ends the program at once. A fault of the input or the output has the effect
// of Ctrl-C. If a write fails in the middle of a line, the whole line is left as well.
//
// The exit code is 0 if all lines are sent, 1 after a fault, 2 if a flag is wrong, 130 after Ctrl-C
// and 143 after SIGTERM. (go run turns all of them but 0 into 1.) Flag -h shows all flags.
//
// # The experiment
//
// How does each policy release lines, and what happens after the input has paused for a second? Run
// them all on the same input to see. It always has a line ready, except in two pauses:
//
//	go run ./examples/sendrate -policy all -lines 10000 -rate 1000 -outage 4s,6s -plot all.png
//
// It takes about 12 seconds, and starts on a whole second, as windows do. It ends with a bar chart
// for each policy and a table. A bar is the number of lines in a tenth of a second. On the axis of
// a chart, ░ is a pause. The line that is sent in a pause was taken before it.
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
// For a receiver that cannot take bursts, use the leaky bucket, or a token bucket with a small
// -burst. The leaky bucket saves no unused time, not even the delay of a late timer. It takes 12.1
// s where 12.0 s would be enough. A token bucket with a -burst of a few lines makes up for late
// timers.
//
// With -offer 1000 the input has the rate of the policies. After a pause, it has all lines at once
// that came due in the pause. All policies let it pass evenly at first. After the first pause, the
// fixed window and the log never become even again.
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
