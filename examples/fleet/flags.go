package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"
)

// options is the command line.
type options struct {
	redis string
	rate  int
	time  time.Duration
	svg   string
}

// The limit must be one that is leased in each window of the shortest run: 100 events.
const (
	leastRate, mostRate = 2000, 10_000_000
	leastTime, mostTime = 3 * time.Second, time.Hour
)

// parse reads the command line. An error names the value and what is allowed.
func parse(args []string, help io.Writer) (options, error) {
	o := options{rate: leastRate, time: time.Minute}
	fs := flag.NewFlagSet("fleet", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.redis, "redis", "", "the `address` of a Redis to use in place of NATS, such as localhost:6379")
	fs.Func("rate", fmt.Sprintf("the limit allows `n` events a second (default %d)", o.rate), func(s string) (err error) {
		if o.rate, err = strconv.Atoi(s); err != nil || o.rate < leastRate || o.rate > mostRate {
			return fmt.Errorf("must be a whole number from %d to %d", leastRate, mostRate)
		}
		return nil
	})
	fs.Func("time", fmt.Sprintf("`length` of all ways together (default %v)", o.time), func(s string) (err error) {
		if o.time, err = time.ParseDuration(s); err != nil || o.time < leastTime || o.time > mostTime {
			return fmt.Errorf("must be from %v to %v", leastTime, mostTime)
		}
		return nil
	})
	fs.StringVar(&o.svg, "svg", "fleet.svg", "draw into this `file`; \"\" is none")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, "Usage: fleet [flags]\n\nShows what it costs to keep one limit in 8 processes, and who keeps it.\n\n")
		fs.SetOutput(help)
		fs.PrintDefaults()
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("argument %q, must be none", fs.Arg(0))
	}
	return o, err
}
