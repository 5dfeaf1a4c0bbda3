package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"
)

// options is the command line.
type options struct {
	rate    int // requests a second to each host
	workers int
	timeout time.Duration
	urls    []string
}

// parse reads the command line. An error contains the value and the allowed ones. If asked for
// help, it writes the usage to help and returns flag.ErrHelp.
func parse(args []string, help io.Writer) (options, error) {
	o := options{rate: 5, workers: 8, timeout: 30 * time.Second}
	fs := flag.NewFlagSet("httpclient", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	atLeastOne(fs, &o.rate, "rate", "send `n` requests a second to each host (default 5)")
	atLeastOne(fs, &o.workers, "workers", "fetch `n` pages at a time (default 8)")
	fs.Func("timeout", "the longest `time` for a request, with the waiting for its turn (default 30s)", o.setTimeout)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(help, "Usage: httpclient [flags] [url ...]\n\n"+
				"Fetches the pages, or 20 of examples/httpserver, no faster than -rate for each host.\n\n")
			fs.SetOutput(help)
			fs.PrintDefaults()
		}
		return o, err
	}
	for _, arg := range fs.Args() {
		u, err := url.Parse(arg)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return o, fmt.Errorf("argument %q, must be a URL such as http://127.0.0.1:8080/health", arg)
		}
		o.urls = append(o.urls, arg)
	}
	if len(o.urls) == 0 {
		for i := range 20 {
			o.urls = append(o.urls, fmt.Sprintf("http://127.0.0.1:8080/api/items?n=2&from=%d", 2*i))
		}
	}
	return o, nil
}

func (o *options) setTimeout(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("must be a time above 0, such as 30s or 2m")
	}
	o.timeout = d
	return nil
}

// atLeastOne adds a flag for a whole number.
func atLeastOne(fs *flag.FlagSet, n *int, name, usage string) {
	fs.Func(name, usage, func(s string) error {
		v, err := strconv.Atoi(s)
		if err != nil || v < 1 {
			return errors.New("must be a whole number, at least 1")
		}
		*n = v
		return nil
	})
}
