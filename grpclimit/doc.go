// Package grpclimit limits the calls to gRPC servers. It also makes a gRPC client respect the
// limits of the servers that it calls.
//
//	limit := grpclimit.ServerInterceptor{
//		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
//		Key:     grpclimit.PeerIP,
//	}
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(limit.Unary()),
//		grpc.ChainStreamInterceptor(limit.Stream()),
//	)
//
// [ServerInterceptor] counts each call for a key, which a [KeyFunc] finds in the call. By default,
// calls over the limit get the status RESOURCE_EXHAUSTED. It has a RetryInfo that says when to try
// again, unless the same call can never be granted.
//
// [ClientInterceptor] delays each call until the limit allows it, and obeys the RetryInfo of
// servers.
//
// Calls with the same key share an allowance: the events that the limit still grants. Use a key
// that clients cannot choose: with a new key a client evades the limit, and with another client's
// key it uses up that client's allowance. A client can write anything into its metadata.
package grpclimit
