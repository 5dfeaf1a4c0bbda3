// Package httplimit limits the requests to HTTP handlers. It also makes an HTTP client respect the
// limits of the servers that it calls.
//
//	limit := httplimit.Middleware{
//		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
//		Key:     httplimit.RemoteIP,
//	}
//	http.ListenAndServe(":8080", limit.Wrap(mux))
//
// [Middleware] is for servers. It counts each request for a key, which a [KeyFunc] finds in the
// request. Requests over the limit get the answer 429 with Retry-After.
//
//   - A Middleware can have several limits: see [Limit]. If one of them denies a request, none of
//     them counts it.
//   - With the field Settle, the answer decides what a request counts as: for example, failed
//     logins only, or the bytes of the body.
//   - A [Checker] limits inside of a handler. It is for keys, and numbers of events, that are in
//     the body.
//   - A Middleware warns if it is not wired correctly: see [Check].
//
// [Transport] is for clients. It delays each request until the limit allows it, and obeys the
// Retry-After of servers.
//
// Requests with the same key share an allowance: the events that the limit still grants. Choose a
// key that a client cannot change to evade the limit. A client should also not be able to send
// another client's key, because it could then use up that client's allowance. A client can write
// anything into its request. In particular:
//
//   - Read an address from X-Forwarded-For only with [ForwardedIP], and from a field such as
//     CF-Connecting-IP only with [HeaderIP]. Give both functions the proxies that you trust.
//   - Read a user's name with [ContextValue], from what your authentication has put into the
//     context. Never use a name that the request only claims.
package httplimit
