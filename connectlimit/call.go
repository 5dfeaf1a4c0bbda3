package connectlimit

import (
	"context"
	"net/http"
	"net/url"

	"connectrpc.com/connect"
)

// A call is what an interceptor knows of one.
type call struct {
	spec   connect.Spec
	peer   connect.Peer
	method string // of HTTP
	header http.Header
}

// request returns what a KeyFunc of package httplimit sees of the call: the procedure as path and
// pattern, the header, and the context. On a server it has the address of the client, and on a
// client the host of the server. It has no body.
func (c call) request(ctx context.Context) *http.Request {
	r := &http.Request{
		Method: c.method, URL: &url.URL{Path: c.spec.Procedure}, Pattern: c.spec.Procedure,
		Header: c.header, Body: http.NoBody,
	}
	if c.spec.IsClient {
		r.URL.Host, r.Host = c.peer.Addr, c.peer.Addr
		r.URL.Scheme = schemes[r.URL.Port()]
	} else {
		r.RemoteAddr = c.peer.Addr
	}
	return r.WithContext(ctx)
}

// schemes are those of the default ports. Interceptors do not learn the scheme, and TargetHost
// needs it to leave the default port out.
var schemes = map[string]string{"80": "http", "443": "https"}
