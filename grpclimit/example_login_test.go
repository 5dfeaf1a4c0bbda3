package grpclimit_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weir-go/weir"
)

// limitLogins is an interceptor that allows 3 failed logins in 15 minutes to each account. Only
// calls of method are logins. account returns the account that a login is for.
func limitLogins(method string, account func(req any) string) grpc.UnaryServerInterceptor {
	failures := weir.Must(weir.New(weir.SlidingLog{Limit: 3, Per: 15 * time.Minute}))
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, login grpc.UnaryHandler) (any, error) {
		if info.FullMethod != method {
			return login(ctx, req)
		}
		var r weir.Reservation
		if err := failures.ReserveNow(ctx, account(req), 1, &r, nil); err != nil { // no decision
			return nil, status.Error(codes.Unavailable, "try again later")
		}
		if !r.Allowed {
			refused, err := status.New(codes.ResourceExhausted, "too many failed logins").
				WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(r.RetryAfter)})
			if err != nil {
				return nil, err
			}
			return nil, refused.Err()
		}
		resp, err := login(ctx, req)
		if status.Code(err) != codes.Unauthenticated {
			_ = r.Cancel(ctx) // if it fails, the login counts
		}
		return resp, err
	}
}

// Only wrong passwords count. They count before they are checked, so that guesses at the same time
// do not pass together.
func Example_logins() {
	account := func(req any) string { return req.(*pb.SimpleRequest).GetPayload().String() }
	logins := limitLogins(pb.TestService_UnaryCall_FullMethodName, account)
	checks := func(_ context.Context, req any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		if !req.(*pb.SimpleRequest).GetFillUsername() { // stands for a right password
			return nil, status.Error(codes.Unauthenticated, "wrong account or password")
		}
		return &pb.SimpleResponse{}, nil
	}
	client, stop := serve(grpc.ChainUnaryInterceptor(logins, checks))
	defer stop()

	for _, right := range []bool{true, true, true, true, false, false, false, true} {
		_, err := client.UnaryCall(context.Background(), &pb.SimpleRequest{FillUsername: right})
		fmt.Println(status.Code(err))
	}
	// Output:
	// OK
	// OK
	// OK
	// OK
	// Unauthenticated
	// Unauthenticated
	// Unauthenticated
	// ResourceExhausted
}
