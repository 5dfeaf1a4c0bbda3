// Package connectlimit limits the calls to the handlers of connect-go. It also makes a connect-go
// client respect the limits of the servers that it calls. It works with all three protocols of
// connect-go: Connect, gRPC and gRPC-Web.
//
//	limit := connectlimit.Middleware{Limit: httplimit.Middleware{
//		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
//		Key:     httplimit.RemoteIP,
//	}}
//	mux := http.NewServeMux()
//	mux.Handle(pingv1connect.NewPingServiceHandler(service))
//	http.ListenAndServe(":8080", limit.Wrap(mux))
//
// [Middleware] is the usual choice for servers. It decides before any message of a call is read.
// Calls over the limit get the error resource_exhausted in the protocol of the client. It has a
// RetryInfo that says when to try again, unless the same call can never be granted.
//
// [ServerInterceptor] decides later, when the message of a unary call has been read. Use it if the
// cost is in the message, if each message of a stream counts, or if another interceptor finds the
// user.
//
// [ClientInterceptor] delays each call until the limit allows it, and obeys the RetryInfo of
// servers.
package connectlimit
