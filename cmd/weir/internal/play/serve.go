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

// Serve serves the page at l until ctx ends, and closes l. Browsers may ask for it by an address,
// by localhost, or by the name host. Serve prints the address of the page, with the query of a
// scenario if that is not empty.
func (s *Site) Serve(ctx context.Context, l net.Listener, host, query string, out io.Writer) error {
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
