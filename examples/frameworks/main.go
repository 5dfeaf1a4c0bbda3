// Command frameworks serves two routes by the web framework of your choice, with a limit of 5
// requests in 10 seconds for each route and client. docs/frameworks.md explains its code.
//
//	go run ./examples/frameworks -framework gin
//	for i in 1 2 3 4 5 6; do curl -i localhost:8080/items/$i; done
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// A server is an http.Server, or the server of a framework with its own.
type server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// frameworks are the servers by name. Each sets the Key of the limit, because each knows routes in
// its own way.
var frameworks = map[string]func(limit httplimit.Middleware) server{
	"chi":     func(limit httplimit.Middleware) server { return &http.Server{Handler: newChi(limit)} },
	"echo":    func(limit httplimit.Middleware) server { return &http.Server{Handler: newEcho(limit)} },
	"fiber":   func(limit httplimit.Middleware) server { return fiberServer{newFiber(limit)} },
	"gin":     func(limit httplimit.Middleware) server { return &http.Server{Handler: newGin(limit)} },
	"gorilla": func(limit httplimit.Middleware) server { return &http.Server{Handler: newGorilla(limit)} },
}

func names() string { return strings.Join(slices.Sorted(maps.Keys(frameworks)), ", ") }

func main() {
	framework := flag.String("framework", "chi", "one of "+names())
	addr := flag.String("addr", "localhost:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *framework, *addr); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, framework, addr string) error {
	newServer, ok := frameworks[framework]
	if !ok {
		return fmt.Errorf("framework is %q, must be one of %s", framework, names())
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	log.Printf("%s serves http://%s/items/1 and /users/1", framework, ln.Addr())
	return serve(ctx, newServer(newLimit(weir.SlidingLog{Limit: 5, Per: 10 * time.Second})), ln)
}

func newLimit(policy weir.Policy) httplimit.Middleware {
	return httplimit.Middleware{
		Limiter: weir.Must(weir.New(policy)),
		Headers: httplimit.RateLimit{},
	}
}

// serve serves until ctx ends.
func serve(ctx context.Context, s server, ln net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(soon); err != nil {
		return err
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
