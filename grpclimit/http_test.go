package grpclimit_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weir-go/weir/grpclimit"
	"github.com/weir-go/weir/httplimit"
)

// The middleware of httplimit in front of gRPC is not enough: its 429 is UNAVAILABLE to clients,
// and they do not see its Retry-After.
func TestHTTPMiddlewareInFrontOfGRPC(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	grpcServer := grpc.NewServer()
	pb.RegisterTestServiceServer(grpcServer, service{})
	m := httplimit.Middleware{Limiter: l, Key: func(*http.Request) (string, error) { return "one", nil }}
	server := &http.Server{Handler: m.Wrap(grpcServer), Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	network := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(network) }()
	defer func() { _ = server.Close() }()
	cc, err := grpc.NewClient("passthrough:///shop.example",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return network.DialContext(ctx) }),
	)
	require.NoError(t, err)
	defer func() { _ = cc.Close() }()
	c := pb.NewTestServiceClient(cc)
	require.NoError(t, empty(c))
	err = empty(c)
	assert.Equal(t, codes.Unavailable, status.Code(err))
	assert.Zero(t, grpclimit.RetryAfter(err))
}
