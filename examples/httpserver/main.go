// Command httpserver is a small service. Each endpoint has its own kind of limit:
//
//	POST /login      5 a minute for each address: guesses of a password
//	GET  /api/items  20 at once and 10 a second for each user, or address; ?n=15 counts as 15
//	GET  /report     one each half second, for everyone together; up to 6 wait for their turn
//	GET  /health     no limit
//
// It prints commands to try, and logs each decision:
//
//	$ go run ./examples/httpserver
//	listening on http://127.0.0.1:8080, stop with Ctrl-C. In another terminal, try
//
//	# five logins a minute for each address: the sixth is refused
//	curl -i -d user=ada -d password=lovelace 'http://127.0.0.1:8080/login?try=[1-6]'
//	…
//	time=… level=INFO msg=allowed limit=login client=127.0.0.1 cost=1 remaining=0
//	time=… level=WARN msg=denied limit=login client=127.0.0.1 cost=1 remaining=0 retry_after=59.9996s
//
// The last answer to that command is
//
//	HTTP/1.1 429 Too Many Requests
//	Cache-Control: no-store
//	Content-Type: application/problem+json
//	Ratelimit: "login";r=0;t=60
//	Ratelimit-Policy: "login";q=5;w=60
//	Retry-After: 60
//	X-Content-Type-Options: nosniff
//
//	{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded",…}
//
// The flags:
//
//	-addr host:port    where to listen (default 127.0.0.1:8080)
//	-redis host:port   share the limits with all servers that use this Redis; while it does not answer, each
//	                   limits by itself, and logs degraded=true with its decisions (default none: in memory)
//	-state file        load the limits from this file at the start, and save them there when it stops; a file that
//	                   can't be read is logged, and the limits start anew (default none)
//	-trust prefixes    addresses of proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8,::1/128
//	-log level         info logs every decision, warn those that deny, error failures only (default info)
//
// SIGINT and SIGTERM stop it. It then accepts no more connections, and answers the requests that it
// has, including those that wait for their turn. A second signal stops it at once. The exit code is
// 0 after one signal, 1 if it can't serve, end all requests in time or save the file of -state, and
// 2 if the command line is wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that a second signal has its usual effect
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
