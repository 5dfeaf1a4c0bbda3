package grpclimit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/grpclimit"
	"github.com/weir-go/weir/httplimit"
)

// roomy never denies; tight denies from the second call on.
var (
	roomy = weir.TokenBucket{Limit: 1_000_000_000, Per: time.Second}
	tight = weir.TokenBucket{Limit: 1, Per: 1000 * time.Hour}
)

// BenchmarkUnary is what an interceptor adds to a call.
func BenchmarkUnary(b *testing.B) {
	ctx := from(tcp("192.0.2.1:1234"), ":authority", "shop.example", "content-type", "application/grpc",
		"user-agent", "grpc-go/1.85.0", "api-key", "0123456789abcdef", "x-forwarded-for", "203.0.113.9")
	info := &grpc.UnaryServerInfo{FullMethod: pb.TestService_EmptyCall_FullMethodName}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	for _, c := range []struct {
		name   string
		policy weir.Policy
		key    grpclimit.KeyFunc
	}{
		{"Method", roomy, grpclimit.Method},
		{"PeerIP", roomy, grpclimit.PeerIP},
		{"Metadata", roomy, grpclimit.Metadata("api-key")},
		{"Join", roomy, grpclimit.Join(grpclimit.Method, grpclimit.Metadata("api-key"))},
		{"FromHTTP", roomy, grpclimit.FromHTTP(httplimit.RemoteIP)},
		{"denied", tight, grpclimit.PeerIP},
	} {
		b.Run(c.name, func(b *testing.B) {
			limit := grpclimit.ServerInterceptor{Limiter: weir.Must(weir.New(c.policy)), Key: c.key, Policy: c.policy}.Unary()
			_, _ = limit(ctx, nil, info, handler)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = limit(ctx, nil, info, handler)
			}
		})
	}
}

// BenchmarkCall is a whole call, over a connection in memory.
func BenchmarkCall(b *testing.B) {
	limit := grpclimit.ServerInterceptor{Limiter: weir.Must(weir.New(roomy)), Key: grpclimit.PeerIP}
	for name, opts := range map[string][]grpc.ServerOption{
		"none":    nil,
		"limited": {grpc.ChainUnaryInterceptor(limit.Unary())},
	} {
		b.Run(name, func(b *testing.B) {
			c, stop := serve(opts...)
			defer stop()
			require.NoError(b, empty(c))
			b.ReportAllocs()
			for b.Loop() {
				_ = empty(c)
			}
		})
	}
}
