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
//   - Several [Limit] of a Middleware are all or none: what one denies is given back to the others.
//   - With a Settle, a request counts as what its answer tells: failed logins only, or bytes.
//   - A [Checker] asks inside of a handler, for keys and costs that are in the body.
//   - A Middleware that is not wired as it should be warns: see [Check].
//
// [Transport] is for clients. It delays each request until the limit allows it, and obeys the
// Retry-After of servers.
//
// Requests with the same key share an allowance. Choose a key that a client cannot change to evade
// the limit. It should also not be able to use another client's key, to use up that client's
// allowance. A client can write anything into its request. In particular:
//
//   - Take an address from X-Forwarded-For by [ForwardedIP] only, with the proxies that you trust,
//     and one from a field such as CF-Connecting-IP by [HeaderIP].
//   - Take a user's name by [ContextValue] from the result of your authentication, and never from
//     what the request claims.
package httplimit
