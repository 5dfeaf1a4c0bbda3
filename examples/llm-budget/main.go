// Command llm-budget shares a language model's allowance among concurrent callers. The allowance is
// 90,000 tokens and 120 requests a minute, with bursts of 15,000 tokens and 20 requests.
//
// The cost of a call is known when it is over. Each call therefore reserves an estimate: its prompt
// and the longest answer that it allows. Afterwards it settles for the tokens that it has used.
// Usually it used fewer, and the rest is available to other calls at once. Sometimes it used more,
// and later calls wait for them. A call is refused as soon as it is known that it cannot start
// within 15 seconds. A call whose caller gives up is cancelled, and leaves no trace.
//
// A call has two costs, its tokens and one request. A composed policy charges the same number to
// all its parts, so there are two limiters here. A call that the second limiter denies is cancelled
// at the first.
//
// A minute lasts a second here. The model is a simulation that sleeps and makes up numbers.
// Everything else is real:
//
//	$ go run ./examples/llm-budget
//	minute  calls  refused  gave up  estimated    used  given back  overdrawn
//	     1     87       40        6     148667   92495       59157       2985
//	     2     74       13        2     126103   88334       44528       6759
//	     …
//	   all    494       74       31     844685  547587      326246      29148
//
//	used 547587 of the 555000 tokens that the budget allows in that time, in 494 calls; the estimates were 844685
//
// With -settle=false the estimates stay charged, and it makes a third fewer calls.
//
// The flags:
//
//	-callers n    callers at a time (default 60)
//	-minutes n    how long to run (default 6)
//	-settle=false keep the estimates charged
//
// The exit code is 0, or 1 after an error, or 2 if the command line is wrong.
package main

import (
	"context"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
