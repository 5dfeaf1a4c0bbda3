// Command fleet compares ways to keep one limit in many processes: which of them keep it, and what
// they cost. It starts a store and 8 nodes, which are processes of their own. Three times as many
// requests come as the limit allows. They are spread evenly, then they move from node to node, then
// three nodes are killed and come back. The nodes try five ways, one after the other:
//
//	plain    asks the store for every decision
//	batched  asks for all requests of half a millisecond at once: a model of Gubernator
//	synced   counts by itself, and adds up with the others each 100 ms: a model of Kong
//	shares   grants an eighth of the limit, without a store: fleet.Shares
//	lease    takes events from the store ahead of need: fleet.Lease
//
// From the root of the repository:
//
//	go run ./examples/fleet
//
// It takes a little more than a minute. It prints a line for each window of the limit, and at the
// end a table. It draws the same into fleet.svg. Ctrl-C ends it early, with what there is.
//
// The store is NATS JetStream, which runs in this program. With -redis it is a Redis that you have.
//
// The flags:
//
//	-redis addr   the address of a Redis to use in place of NATS, such as localhost:6379
//	-rate n       what the limit allows in a second, at least 2000 (default 2000)
//	-time length  of all ways together, from 3s to 1h (default 1m0s)
//	-svg file     where to draw; "" is nowhere (default fleet.svg)
//
// The code of the five ways is in ways.go, batched.go and synced.go. A service needs no more of
// this program than the function lease there.
//
// The exit code is 0; 1 after a fault; 2 if the command line is wrong; 130 after Ctrl-C.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == nodeArg {
		if err := serveNode(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "fleet: a node:", err)
			os.Exit(exitFault)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
