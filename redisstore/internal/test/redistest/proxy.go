package redistest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/weir-go/weir/storetest/faultproxy"
)

// A Proxy is a [faultproxy.Proxy] in front of a Redis server. It knows the commands that clients
// send.
type Proxy struct{ *faultproxy.Proxy }

// NewProxy starts a proxy before the server with the address.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	return &Proxy{faultproxy.New(tb, target, splitCommands)}
}

// splitCommands is a bufio.SplitFunc that finds the end of a command.
func splitCommands(data []byte, _ bool) (advance int, token []byte, err error) {
	rest := bytes.NewReader(data)
	r := bufio.NewReader(rest)
	switch _, err := readCommand(r); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // there is more to come
		return 0, nil, nil
	case err != nil:
		return 0, nil, err
	}
	advance = len(data) - rest.Len() - r.Buffered()
	return advance, data[:advance], nil
}

// LoseReplies loses the replies to the next n commands for which match returns true. The server
// executes them.
func (p *Proxy) LoseReplies(n int, match func(command []string) bool) {
	p.Proxy.LoseReplies(n, func(request []byte) bool {
		command, err := readCommand(bufio.NewReader(bytes.NewReader(request)))
		return err == nil && match(command)
	})
}

// DialThrough is a dialer. If a proxy stands before the address, it goes through that proxy. It is
// for clients that learn the addresses of servers from other servers.
func DialThrough(proxies ...*Proxy) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if i := slices.IndexFunc(proxies, func(p *Proxy) bool { return p.Target() == addr }); i >= 0 {
			addr = proxies[i].Addr()
		}
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
}
