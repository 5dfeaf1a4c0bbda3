// Command shares divides a limit among all processes that run it, with no store in between. The
// processes find each other by sessions in etcd. Each of them grants its share from its own memory,
// and prints once a second what it did:
//
//	$ go run ./examples/shares -policy 1000/1s
//	member 1 of 1
//	21:35:50  granted 1000
//	…
//	member 1 of 2
//	21:35:53  granted 926
//	21:35:54  granted 493
//	21:35:55  granted 508
//
// Start it again in another terminal, and stop one of them with Ctrl-C or kill -9. All processes
// together never do more than the policy allows, however often they come and go. A process that
// joins waits until the others know it, and then for a span of the policy: its window, or the time
// in which its bucket is filled. When a process is killed, the others take over its share after the
// time to live of its session, and a span.
//
// While etcd is away, nothing changes until the sessions would expire. Then no process has a share:
// it could be the one that is cut off. A longer -ttl bridges a longer outage. It also makes the
// others take over later after a crash.
//
// It needs an etcd, such as "etcd --data-dir /tmp/etcd" starts.
//
// The flags:
//
//	-etcd addr    addresses of etcd, separated by commas (default localhost:2379)
//	-prefix text  prefix of the sessions' keys (default /weir/shares/)
//	-ttl time     time to live of a session, in whole seconds (default 10s)
//	-policy text  what all processes together may do (default 1000/1s)
//
// The exit code is 0, or 2 if the command line is wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
