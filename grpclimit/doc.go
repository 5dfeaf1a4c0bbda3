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
// calls over the limit get the status RESOURCE_EXHAUSTED, with a RetryInfo that says after which
// time to try again.
//
// [ClientInterceptor] delays each call until the limit allows it, and obeys the RetryInfo of
// servers.
//
// Calls with the same key share an allowance: the events that the limit still grants. Choose a key
// that a client cannot change to evade the limit. A client should also not be able to send another
// client's key, because it could then use up that client's allowance. A client can write anything
// into its metadata.
package grpclimit
