package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/grpclimit"
)

// service is a server of gRPC's own test service. Its calls take no time, and succeed.
type service struct {
	pb.UnimplementedTestServiceServer
	received func(*pb.StreamingInputCallRequest) // each message of StreamingInputCall; may be nil
	hide     bool                                // of StreamingInputCall: it answers whatever RecvMsg returned
}

func (service) EmptyCall(context.Context, *pb.Empty) (*pb.Empty, error) { return &pb.Empty{}, nil }

func (service) UnaryCall(_ context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	return &pb.SimpleResponse{Payload: r.GetPayload()}, nil
}

func (s service) StreamingInputCall(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	for n := int32(0); ; n++ {
		m, err := stream.Recv()
		if err == io.EOF || err != nil && s.hide {
			return stream.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: n})
		}
		if err != nil {
			return err
		}
		if s.received != nil {
			s.received(m)
		}
	}
}

// start starts a server with an interceptor on a network in memory, and returns the connection of a
// client. The client's address is 192.0.2.1. stop ends both.
func start(limit grpclimit.ServerInterceptor, s service, opts ...grpc.DialOption) (cc *grpc.ClientConn, stop func()) {
	return connect(grpc.NewServer(grpc.ChainUnaryInterceptor(limit.Unary()), grpc.ChainStreamInterceptor(limit.Stream())), s, opts)
}

// serve is start with any options of a server.
func serve(opts ...grpc.ServerOption) (c pb.TestServiceClient, stop func()) {
	cc, stop := connect(grpc.NewServer(opts...), service{}, nil)
	return pb.NewTestServiceClient(cc), stop
}

func connect(server *grpc.Server, s service, opts []grpc.DialOption) (cc *grpc.ClientConn, stop func()) {
	pb.RegisterTestServiceServer(server, s)
	network := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(listener{network}) }()
	cc, err := grpc.NewClient("passthrough:///shop.example", append(opts,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return network.DialContext(ctx) }),
	)...)
	if err != nil {
		panic(err)
	}
	return cc, func() {
		_ = cc.Close()
		server.Stop()
	}
}

// dial is start for the time of a test.
func dial(t *testing.T, limit grpclimit.ServerInterceptor, opts ...grpc.DialOption) pb.TestServiceClient {
	t.Helper()
	cc, stop := start(limit, service{}, opts...)
	t.Cleanup(stop)
	return pb.NewTestServiceClient(cc)
}

// listener gives each connection the address of a client.
type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return remote{c}, err
}

type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1234} }

// one is a KeyFunc that has one key for all.
func one(context.Context, grpclimit.Call) (string, error) { return "one", nil }

// limitTo returns an interceptor that limits all calls together.
func limitTo(l weir.Limiter) grpclimit.ServerInterceptor {
	return grpclimit.ServerInterceptor{Limiter: l, Key: one}
}

// per is a policy whose answers are easy to foresee: limit events in any window.
func per(limit int, d time.Duration) weir.SlidingLog { return weir.SlidingLog{Limit: limit, Per: d} }

// frozen returns a limiter whose time stands still unless the clock is told otherwise.
func frozen(p weir.Policy) (*weir.KeyedLimiter, *clock.Mock) {
	c := clock.NewMock()
	return weir.Must(weir.New(p, weir.WithClock(c))), c
}

// limiterFunc is a Limiter that answers Take by a function.
type limiterFunc func() (weir.Result, error)

func (f limiterFunc) Allow(string) bool { r, err := f(); return err == nil && r.Allowed }

func (f limiterFunc) Take(context.Context, string, int) (weir.Result, error) { return f() }

func (f limiterFunc) Wait(context.Context, string, int) error { _, err := f(); return err }

var errStore = errors.New("dial tcp 10.1.2.3:6379: secret of alice")

// broken is a Limiter that has no decision.
var broken = limiterFunc(func() (weir.Result, error) { return weir.Result{}, errStore })

// details returns the details of a status, which must be of these types.
func details(t *testing.T, err error) (retry *errdetails.RetryInfo, quota *errdetails.QuotaFailure) {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			require.Nil(t, retry, "only one")
			retry = d
		case *errdetails.QuotaFailure:
			require.Nil(t, quota, "only one")
			quota = d
		default:
			assert.Fail(t, "unexpected detail", "%T", d)
		}
	}
	return retry, quota
}

func empty(c pb.TestServiceClient, opts ...grpc.CallOption) error {
	_, err := c.EmptyCall(context.Background(), &pb.Empty{}, opts...)
	return err
}
