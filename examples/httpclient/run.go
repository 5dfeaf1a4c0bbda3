package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"time"
)

// run is the program. It fetches until there are no more pages or ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "httpclient: %v\nhttpclient -h shows all flags.\n", err)
		return 2
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = o.workers
	defer base.CloseIdleConnections()
	c := newCrawler(o, base)
	start, fetched := time.Now(), 0
	for f := range c.fetch(ctx, o.urls) {
		at := time.Since(start).Seconds()
		if f.err != nil {
			fmt.Fprintf(stdout, "%5.2fs %v\n", at, f.err)
			continue
		}
		fmt.Fprintf(stdout, "%5.2fs %d %5d bytes %s\n", at, f.status, f.size, f.url)
		if f.status < 400 {
			fetched++
		}
	}
	took := time.Since(start)
	fmt.Fprintf(stdout, "%d of %d pages in %.2f s, by %d requests\n", fetched, len(o.urls), took.Seconds(), c.requests.Load())
	if fetched < len(o.urls) {
		return 1
	}
	return 0
}
