// Package httplimit puts limits of package weir in front of HTTP handlers, and keeps HTTP clients
// to the limits of others.
//
//	limit := httplimit.Middleware{
//		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
//		Key:     httplimit.RemoteIP,
//	}
//	http.ListenAndServe(":8080", limit.Wrap(mux))
//
// [Middleware] counts each request for a key, which a [KeyFunc] finds in it, and answers those that
// are too many with 429 and Retry-After. [Transport] is for the other side: it holds requests back
// until they may go, and obeys the Retry-After of servers.
//
// A key decides who shares an allowance, and therefore who can evade a limit and who can use up
// another's. What a client writes into a request proves nothing. In particular, take an address
// from X-Forwarded-For by [ForwardedIP], with the proxies that you trust, and in no other way; and
// take a user's name from what your authentication found out, by [ContextValue], not from what the
// request claims.
package httplimit
