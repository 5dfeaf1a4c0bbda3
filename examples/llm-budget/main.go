// Command llm-budget shares a language model's allowance among concurrent callers: 90,000 tokens and 120
// requests a minute, of which 15,000 tokens and 20 requests may come at once.
//
// What a call costs is known when it is over. So each books an estimate, its prompt and the longest answer that it
// allows, and settles for what it has used: mostly less, which is given back to the others at once, and
// now and then more, which they then wait for. A call that could not start within 15 seconds is
// refused at once. One whose caller gives up is cancelled, and leaves no trace.
//
// A call has two costs, its tokens and one request. A composed policy charges the same number to all its parts, so there
// are two limiters here; a call that the second denies is cancelled at the first.
//
// A minute lasts a second here, and the model is a simulation that sleeps and makes up numbers; all else is real:
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
// With -settle=false, when the estimates stay charged, it makes a third less calls.
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
