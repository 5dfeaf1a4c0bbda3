// Command sms-gateway is the outgoing side of a message service. Its contract with the provider
// allows 300 messages a minute, 15,750 an hour, 300,000 a day, 1,500,000 a week and 6,000,000 a
// month, by the calendar in UTC. All five limits are one policy, weir.All. Each batch is one step.
//
// It has two kinds of messages. Codes for logins come one by one, and can't wait. A mailing of
// millions can wait. For the mailing, the worker calls TakeUpTo, which takes as many events as are
// available, and sleeps if there are none. The mailing has its own limiter with four fifths of each
// number, which leaves a fifth for codes. Events that this limiter granted, but the contract did
// not, are returned.
//
// Time is simulated: when the worker would sleep, the clock jumps. A month takes two seconds, and
// each run prints the same. The provider counts for itself, and would refuse a message over the
// limit.
//
//	$ go run ./examples/sms-gateway
//	            mailing   codes   hours that the mailing was held back by the quota of a
//	                             minute   hour    day   week  month
//	Thu  1 Oct   240000   17285    16.5    2.5    5.0    0.0    0.0
//	…
//	Fri  9 Oct   240000   17371    16.5    2.5    0.0    5.0    0.0
//	Sat 10 Oct        0   17160     0.0    0.0    0.0   24.0    0.0
//	…
//
//	sent 4800000 of 5000000 messages of the mailing, and 534843 codes; a code waited 0s at most
//	the provider counted at most 267 per minute, 13383 per hour, 257423 per day, 1320799 per week, 5334843 per month, and refused 0
//
// With -codes 100 there are more codes than the rest of the contract allows. The mailing returns
// the events that it cannot use, and the contract is used to the last message.
//
// The flags:
//
//	-mailing n    messages of the mailing (default 5000000)
//	-codes n      codes a minute, on average (default 12)
//	-days n       how long to run (default 31)
//
// The exit code is 0, 1 if the provider refused a message or the run failed or was interrupted, and
// 2 if the command line is wrong.
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
