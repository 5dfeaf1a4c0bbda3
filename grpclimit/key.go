package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/weir-go/weir/httplimit"
)

// A Call is a call of a method, as an interceptor sees it. It is valid during the call.
type Call struct {
	Method  string // such as /package.Service/Method
	Message any    // the request of a unary call, or a message of a stream; nil for a stream as a whole
	Target  string // in a ClientInterceptor, the target of the connection; else empty
}

// A KeyFunc returns the key of a call: the call uses the allowance of that key. Several goroutines
// may call it at once. It must not change the message.
//
// Two kinds of error have a meaning:
//
//   - An error that wraps [ErrNoKey]: the call lacks what the function looks for. [Or] then tries
//     its next KeyFunc.
//   - [ErrSkip], or an error that wraps it: the call is not limited.
type KeyFunc func(context.Context, Call) (string, error)

// The errors of a [KeyFunc]. They are the same as in package httplimit. A KeyFunc that calls a
// function of httplimit can therefore return its errors.
var (
	ErrSkip  = httplimit.ErrSkip
	ErrNoKey = httplimit.ErrNoKey
)

// PeerIP is a KeyFunc for servers. Its key is made from the address at the other end of the
// connection, as [httplimit.RemoteIP] makes it. Clients cannot forge this address. Behind a proxy
// or load balancer it is the address of the proxy, which many clients share. Use [FromHTTP] there.
//
// It fails if the other end has no IP address, as over a Unix socket.
func PeerIP(ctx context.Context, _ Call) (string, error) { return peerIP(ctx, httplimit.ClientIP{}) }

// PeerIPOf returns a KeyFunc like [PeerIP] that makes its keys by the options in clients. Proxies
// and Hops must be valid, but have no effect on its keys. If an option is not valid, the KeyFunc
// returns an error for every call.
func PeerIPOf(clients httplimit.ClientIP) KeyFunc {
	// The caller may change the slices in clients afterwards.
	clients.Skip, clients.NAT64 = slices.Clone(clients.Skip), slices.Clone(clients.NAT64)
	clients.Proxies = slices.Clone(clients.Proxies)
	return func(ctx context.Context, _ Call) (string, error) { return peerIP(ctx, clients) }
}

func peerIP(ctx context.Context, clients httplimit.ClientIP) (string, error) {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return "", errNoPeer
	}
	var at netip.AddrPort
	if tcp, ok := p.Addr.(*net.TCPAddr); ok {
		at = tcp.AddrPort()
	} else {
		at, _ = netip.ParseAddrPort(p.Addr.String())
	}
	if !at.IsValid() {
		return "", fmt.Errorf("weir: the peer's address is %q, must be an IP address and a port", p.Addr)
	}
	return clients.Key(at.Addr())
}

// Metadata returns a KeyFunc for servers. Its key is the value of name in the metadata of the call.
// It is for API keys. For addresses use [FromHTTP]. A call has no key if the value is missing or
// empty, or if there are several values. With several, a client could show one value to the
// limiter, and another to the code that checks the API key.
//
// Clients can make up values, and a new value usually has a full allowance. Put the limiter behind
// the check of the API key, or a limit by address in front of the limiter.
func Metadata(name string) KeyFunc {
	none := fmt.Errorf("weir: no value of %s in the metadata: %w", name, ErrNoKey)
	several := fmt.Errorf("weir: several values of %s in the metadata: %w", name, ErrNoKey)
	return func(ctx context.Context, _ Call) (string, error) {
		switch values := metadata.ValueFromIncomingContext(ctx, name); {
		case len(values) > 1:
			return "", several
		case len(values) == 0 || values[0] == "":
			return "", none
		default:
			return values[0], nil
		}
	}
}

// Method is a KeyFunc whose key is the method of the call, such as /package.Service/Method. Clients
// cannot make up methods, unless the server has a [google.golang.org/grpc.UnknownServiceHandler].
func Method(_ context.Context, c Call) (string, error) { return c.Method, nil }

// Target is a KeyFunc for a [ClientInterceptor]. Its key is the target of the connection.
func Target(_ context.Context, c Call) (string, error) {
	if c.Target == "" {
		return "", errNoTarget
	}
	return c.Target, nil
}

// FromHTTP makes a KeyFunc for servers from a KeyFunc of package httplimit. It is for addresses
// that proxies write into the metadata:
//
//	Key: grpclimit.FromHTTP(httplimit.ForwardedIP(proxies...))
//
// key gets a request with the peer's address, the metadata as header fields, the method as path and
// pattern, and the context of the call. The request has no body. Making it takes about a
// microsecond.
func FromHTTP(key httplimit.KeyFunc) KeyFunc {
	return func(ctx context.Context, c Call) (string, error) {
		r := &http.Request{
			Method: http.MethodPost, URL: &url.URL{Path: c.Method}, Pattern: c.Method,
			Header: http.Header{}, Body: http.NoBody,
		}
		if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
			r.RemoteAddr = p.Addr.String()
		}
		md, _ := metadata.FromIncomingContext(ctx) // a copy
		for name, values := range md {
			if name == ":authority" && len(values) > 0 {
				r.Host = values[0]
			}
			r.Header[textproto.CanonicalMIMEHeaderKey(name)] = values
		}
		return key(r.WithContext(ctx))
	}
}

var (
	errNoPeer   = errors.New("weir: the call's context has no peer with an address, a gRPC server must have made it")
	errNoTarget = fmt.Errorf("weir: Target of a call without a target, must be in a ClientInterceptor: %w", ErrNoKey)
)
