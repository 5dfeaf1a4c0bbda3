package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/weir-go/weir"
)

// run is the program. It serves until ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "httpserver: %v\nhttpserver -h shows all flags.\n", err)
		return 2
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		fmt.Fprintf(stderr, "httpserver: -addr: %v\n", err)
		return 1
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: o.level}))
	// Addresses are for anybody to come from, so it is bounded.
	own := &weir.MemStore{MaxKeys: 1_000_000}
	if err := load(own, o.state); err != nil {
		log.Error("limits start anew", "err", err)
	}
	store, err := newStore(o.redis, own, log)
	if err != nil {
		fmt.Fprintf(stderr, "httpserver: %v\n", err)
		return 1
	}
	fmt.Fprintln(stdout, strings.ReplaceAll(welcome, "URL", urlOf(listener.Addr())))
	err = serve(ctx, listener, newService(store, o.clientIP(), log), log)
	if err := errors.Join(err, save(own, o.state)); err != nil {
		log.Error("stopped", "err", err)
		return 1
	}
	log.Info("stopped")
	return 0
}

// welcome is what is printed when the server listens.
const welcome = `listening on URL, stop with Ctrl-C. In another terminal, try

# five logins a minute for each address: the sixth is refused
curl -i -d user=ada -d password=lovelace 'URL/login?try=[1-6]'

# 20 items at once and 10 a second for each user: the second request is refused, with Retry-After: 1
curl -i -H 'X-API-Key: key-of-ada' 'URL/api/items?n=15&try=[1-2]'

# a report each half second for all: one goes at once, six wait for their turn, the rest is refused
curl -Z --no-progress-meter -o /dev/null -w '%{http_code} after %{time_total} s\n' 'URL/report?try=[1-10]'

# no limit
curl -i URL/health
`

// urlOf is the URL of a server that listens at addr.
func urlOf(addr net.Addr) string {
	if a, ok := addr.(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		return fmt.Sprintf("http://localhost:%d", a.Port)
	}
	return "http://" + addr.String()
}

// graceTime is how long requests have to come to their end when the server stops: those that wait for
// their turn, too.
const graceTime = reportWait + 4*time.Second

// serve serves until ctx ends, and then the requests that there are.
func serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      reportWait + 10*time.Second, // it runs while a request waits for its turn
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		log.Info("stopping")
		grace, cancel := context.WithTimeout(context.Background(), graceTime)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
