package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// options is the command line.
type options struct {
	etcd, prefix string
	ttl          time.Duration
	policy       weir.AnyPolicy
}

// parse reads the command line. An error names the value and what is allowed.
func parse(args []string, help io.Writer) (options, error) {
	o := options{ttl: 10 * time.Second, policy: weir.AnyPolicy{Policy: weir.TokenBucket{Limit: 1000, Per: time.Second}}}
	fs := flag.NewFlagSet("shares", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.etcd, "etcd", "localhost:2379", "`addresses` of etcd, separated by commas")
	fs.StringVar(&o.prefix, "prefix", "/weir/shares/", "prefix of the sessions' `keys`")
	fs.Func("ttl", "`time` to live of a session, in whole seconds (default 10s)", func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < time.Second || d > time.Hour || d%time.Second != 0 {
			return errors.New("must be a whole number of seconds from 1s to 1h")
		}
		o.ttl = d
		return nil
	})
	fs.TextVar(&o.policy, "policy", o.policy, "what all processes together may do, as a weir `policy`")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, "Usage: shares [flags]\n\nDivides a limit among all processes that run it.\n\n")
		fs.SetOutput(help)
		fs.PrintDefaults()
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("argument %q, must be none", fs.Arg(0))
	}
	return o, err
}

// run is the program. It works until ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	shares := fleet.NewShares(new(weir.MemStore))
	var limiter *weir.KeyedLimiter
	var client *clientv3.Client
	if err == nil {
		limiter, err = weir.New(o.policy.Policy, weir.WithStore(shares))
	}
	if err == nil {
		client, err = clientv3.New(clientv3.Config{Endpoints: strings.Split(o.etcd, ","), Logger: zap.NewNop()})
	}
	if err != nil {
		fmt.Fprintf(stderr, "shares: %v\nshares -h shows all flags.\n", err)
		return 2
	}
	defer client.Close()

	m := &member{
		client: client, prefix: o.prefix, ttl: o.ttl, shares: shares,
		report: func(m fleet.Membership) {
			if m.Members == 0 {
				fmt.Fprintln(stdout, "not a member")
				return
			}
			fmt.Fprintf(stdout, "member %d of %d\n", m.Index+1, m.Members)
		},
		fault: func(err error) { fmt.Fprintf(stderr, "shares: %v\n", err) },
	}
	var granted atomic.Int64
	var all sync.WaitGroup
	all.Go(func() { work(ctx, limiter, &granted) })
	all.Go(func() { tell(ctx, stdout, &granted) })
	m.run(ctx)
	all.Wait()
	return 0
}

// work does all that the limiter allows. The real work would stand in its place.
func work(ctx context.Context, limiter weir.Limiter, granted *atomic.Int64) {
	for ctx.Err() == nil {
		if limiter.Wait(ctx, "all", 1) == nil {
			granted.Add(1)
			continue
		}
		select { // the policy may never grant an event, or the process has no share of it
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func tell(ctx context.Context, out io.Writer, granted *atomic.Int64) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-second.C:
			fmt.Fprintf(out, "%s  granted %d\n", now.Format(time.TimeOnly), granted.Swap(0))
		}
	}
}
