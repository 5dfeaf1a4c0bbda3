package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Serve serves the page at addr until ctx ends. It prints the address of the page, with the query
// of a scenario if that is not empty.
func (s *Site) Serve(ctx context.Context, addr, query string, out io.Writer) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	url := fmt.Sprintf("http://%s/", l.Addr())
	if query != "" {
		url += "#" + query
	}
	fmt.Fprintf(out, "The playground is at %s\nCtrl-C ends it.\n", url)
	server := &http.Server{Handler: s.Handler(host), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
