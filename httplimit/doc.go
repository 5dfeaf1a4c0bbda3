// Package httplimit limits the requests to HTTP handlers. It also makes an HTTP client respect the
// limits of the servers that it calls.
//
//	limit := httplimit.Middleware{
//		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
//		Key:     httplimit.RemoteIP,
//	}
//	http.ListenAndServe(":8080", limit.Wrap(mux))
//
// [Middleware] is for servers. A [KeyFunc] finds the key of each request. A request within the
// limit of its key is counted, and passed to the handler. By default, a request over the limit gets
// the answer 429. The answer has Retry-After, if the same request can be granted later.
//
//   - A Middleware can have several limits: see [Limit]. If one of them denies a request, the
//     others give back what they granted, as far as [weir.Reservation.Cancel] can.
//   - With the field Settle, a request counts as more or fewer events, depending on its answer. Use
//     it to count only failed logins, or the bytes of the answer's body.
//   - A [Checker] asks a limit inside a handler. It is for keys and numbers of events that are in
//     the body of the request.
//   - A Middleware warns if its first requests show that it is not wired correctly: see [Check].
//
// [Transport] is for clients. It delays requests until the limit allows them. By default, it also
// obeys the Retry-After of a 429 or 503, for up to an hour.
//
// Requests with the same key share an allowance: the events that the limit still grants. Choose a
// key that a client cannot change to evade the limit. A client that can send another client's key
// can use up that client's allowance. A client can write anything into its request. Therefore:
//
//   - Read an address from X-Forwarded-For only with [ForwardedIP], and from a field such as
//     CF-Connecting-IP only with [HeaderIP]. Give both functions the proxies that you trust.
//   - Read a user's name with [ContextValue], from what your authentication has put into the
//     context. A name that nobody has checked may be that of another user.
package httplimit
