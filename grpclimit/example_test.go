package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/netip"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/grpclimit"
	"github.com/weir-go/weir/httplimit"
)

// Each client address may make two calls a minute. Health checks are not limited.
func Example() {
	policy := weir.SlidingLog{Limit: 2, Per: time.Minute}
	limit := grpclimit.ServerInterceptor{
		Limiter: weir.Must(weir.New(policy)),
		Key: func(ctx context.Context, c grpclimit.Call) (string, error) {
			if c.Method == healthpb.Health_Check_FullMethodName {
				return "", grpclimit.ErrSkip
			}
			return grpclimit.PeerIP(ctx, c)
		},
		Policy: policy,
	}
	// A service passes these options to its own grpc.NewServer.
	client, stop := serve(
		grpc.ChainUnaryInterceptor(limit.Unary()),
		grpc.ChainStreamInterceptor(limit.Stream()),
	)
	defer stop()

	for range 3 {
		_, err := client.EmptyCall(context.Background(), &pb.Empty{})
		fmt.Println(status.Code(err))
		for _, d := range status.Convert(err).Details() {
			switch d := d.(type) {
			case *errdetails.RetryInfo:
				fmt.Println("  try again in", d.GetRetryDelay().AsDuration().Round(time.Second))
			case *errdetails.QuotaFailure:
				fmt.Println("  the limit is", d.GetViolations()[0].GetDescription())
			}
		}
	}
	// Output:
	// OK
	// OK
	// ResourceExhausted
	//   try again in 1m0s
	//   the limit is sliding-log 2/1m
}

// Two limits: one by API key, and one by address in front of it.
func ExampleServerInterceptor_Unary() {
	address := grpclimit.ServerInterceptor{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key:     grpclimit.PeerIP,
	}
	key := grpclimit.ServerInterceptor{
		Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: time.Minute})),
		Key:     grpclimit.Metadata("api-key"),
	}
	client, stop := serve(grpc.ChainUnaryInterceptor(address.Unary(), key.Unary()))
	defer stop()

	for _, apiKey := range []string{"a", "a", "a", "b"} {
		ctx := metadata.AppendToOutgoingContext(context.Background(), "api-key", apiKey)
		_, err := client.EmptyCall(ctx, &pb.Empty{})
		fmt.Println(apiKey, status.Code(err))
	}
	// Output:
	// a OK
	// a OK
	// a ResourceExhausted
	// b OK
}

// Calls are limited by API key and method, or by address if they have no key. If clients can make
// up API keys, add a limit by address in front of this one.
func ExampleJoin() {
	_ = grpclimit.ServerInterceptor{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key: grpclimit.Join(
			grpclimit.Method,
			grpclimit.Or(grpclimit.Metadata("api-key"), grpclimit.PeerIP),
		),
	}
}

// Behind a proxy, the client's address is in the metadata.
func ExampleFromHTTP() {
	_ = grpclimit.ServerInterceptor{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key:     grpclimit.FromHTTP(httplimit.ForwardedIP(netip.MustParsePrefix("10.0.0.0/24"))),
	}
}

// Each message of a stream counts as the bytes of its payload, plus one. Messages over the limit
// are read up to two seconds later. This slows the client down.
func ExampleServerInterceptor_messages() {
	limit := grpclimit.ServerInterceptor{
		Limiter:  weir.Must(weir.New(weir.TokenBucket{Limit: 1 << 20, Per: time.Second})),
		Key:      grpclimit.PeerIP,
		Messages: true,
		Cost: func(_ context.Context, c grpclimit.Call) int {
			m, _ := c.Message.(*pb.StreamingInputCallRequest)
			return 1 + len(m.GetPayload().GetBody()) // an empty message is not free
		},
		MaxWait: 2 * time.Second,
	}
	client, stop := serve(grpc.ChainStreamInterceptor(limit.Stream()))
	defer stop()
	stream, err := client.StreamingInputCall(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		_ = stream.Send(&pb.StreamingInputCallRequest{Payload: &pb.Payload{Body: make([]byte, 1000)}})
	}
	_, err = stream.CloseAndRecv() // has the status, if a message was refused
	fmt.Println(status.Code(err))
	// Output: OK
}

// A client makes at most five calls a second, and obeys RetryInfo.
func ExampleClientInterceptor() {
	limit := &grpclimit.ClientInterceptor{
		Limiter: weir.Must(weir.New(weir.LeakyBucket{Limit: 5, Per: time.Second})),
	}
	conn, err := grpc.NewClient("dns:///shop.example:443",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(limit.Unary()),
		grpc.WithChainStreamInterceptor(limit.Stream()),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Println(limit.HeldUntil("dns:///shop.example:443").IsZero())
	// Output: true
}

// While the limiter's store is away, calls go ahead.
func ExampleServerInterceptor_failed() {
	_ = grpclimit.ServerInterceptor{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key:     grpclimit.Metadata("api-key"),
		Failed: func(_ context.Context, c grpclimit.Call, err error) error {
			if errors.Is(err, grpclimit.ErrNoKey) {
				return status.Error(codes.Unauthenticated, "no api-key")
			}
			log.Printf("%s is not limited: %v", c.Method, err)
			return nil
		},
	}
}

// callUntilGranted makes a call again while the server says when to try again. The
// ClientInterceptor of the connection holds each try back until then.
func callUntilGranted(ctx context.Context, client pb.TestServiceClient) error {
	for {
		_, err := client.EmptyCall(ctx, &pb.Empty{})
		if grpclimit.RetryAfter(err) == 0 { // a success, an error that time does not mend, or weir.ErrTooLate
			return err
		}
	}
}

// The server grants two calls in a tenth of a second. Five calls are made, and all are granted.
func ExampleRetryAfter() {
	server := grpclimit.ServerInterceptor{
		Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: 100 * time.Millisecond})),
		Key:     grpclimit.PeerIP,
	}
	limit := &grpclimit.ClientInterceptor{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: time.Second})),
	}
	cc, stop := start(server, service{}, grpc.WithChainUnaryInterceptor(limit.Unary()))
	defer stop()
	for range 5 {
		fmt.Println(callUntilGranted(context.Background(), pb.NewTestServiceClient(cc)))
	}
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// <nil>
}
