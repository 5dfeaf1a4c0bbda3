// Command httpclient is a crawler's worker. It fetches pages, several at a time, and keeps to 5
// requests a second for each host. If a server answers 429 or 503 with Retry-After, all requests to
// its host wait for that time. Then the page is requested again, up to three times.
//
// Without arguments it fetches 20 pages from the server of examples/httpserver:
//
//	$ go run ./examples/httpserver -log warn &
//	$ go run ./examples/httpclient
//	…
//	 3.40s 200    22 bytes http://127.0.0.1:8080/api/items?n=2&from=34
//	 3.60s 200    22 bytes http://127.0.0.1:8080/api/items?n=2&from=36
//	 3.80s 200    22 bytes http://127.0.0.1:8080/api/items?n=2&from=38
//	20 of 20 pages in 3.80 s, by 20 requests
//
// With -rate 50 it sends more requests than that server allows. The server refuses some at first:
//
//	20 of 20 pages in 2.42 s, by 22 requests
//
// The flags, before URLs of other pages:
//
//	-rate n          requests a second to each host (default 5)
//	-workers n       pages to fetch at a time (default 8)
//	-timeout time    the longest for a request, with the waiting for its turn (default 30s)
//
// The exit code is 0 if it has all pages, 1 if not, and 2 if the command line is wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal then has its usual effect
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
