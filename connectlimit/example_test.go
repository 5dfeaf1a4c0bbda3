package connectlimit_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/connectlimit"
	"github.com/weir-go/weir/httplimit"
)

// double is a procedure, such as those that connect-go generates.
func double(_ context.Context, r *connect.Request[wrapperspb.Int64Value]) (*connect.Response[wrapperspb.Int64Value], error) {
	return connect.NewResponse(wrapperspb.Int64(2 * r.Msg.GetValue())), nil
}

// Each client address may make two calls a minute, whatever its protocol.
func Example() {
	policy := weir.SlidingLog{Limit: 2, Per: time.Minute}
	limit := connectlimit.Middleware{
		Limit: httplimit.Middleware{
			Limiter: weir.Must(weir.New(policy)),
			Key:     httplimit.RemoteIP,
		},
		Policy: policy,
	}
	mux := http.NewServeMux()
	mux.Handle("/math.v1.Math/Double", connect.NewUnaryHandler("/math.v1.Math/Double", double))
	url, stop := listen(limit.Wrap(mux)) // a service calls http.ListenAndServe
	defer stop()

	client := connect.NewClient[wrapperspb.Int64Value, wrapperspb.Int64Value](http.DefaultClient, url+"/math.v1.Math/Double", connect.WithGRPCWeb())
	for range 3 {
		_, err := client.CallUnary(context.Background(), connect.NewRequest(wrapperspb.Int64(21)))
		if err == nil {
			fmt.Println("ok")
			continue
		}
		fmt.Println(connect.CodeOf(err))
		for _, d := range err.(*connect.Error).Details() {
			value, _ := d.Value()
			switch value := value.(type) {
			case *errdetails.RetryInfo:
				fmt.Println("  try again in", value.GetRetryDelay().AsDuration().Round(time.Second))
			case *errdetails.QuotaFailure:
				fmt.Println("  the limit is", value.GetViolations()[0].GetDescription())
			}
		}
	}
	// Output:
	// ok
	// ok
	// resource_exhausted
	//   try again in 1m0s
	//   the limit is sliding-log 2/1m
}

// A call counts as the number in its message. Only an interceptor sees the message.
func ExampleServerInterceptor() {
	limit := connectlimit.ServerInterceptor{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key:     httplimit.RemoteIP,
		Cost: func(_ context.Context, _ connect.Spec, message any) int {
			n, _ := message.(*wrapperspb.Int64Value)
			return int(max(n.GetValue(), 1)) // a cost of 0 would be free
		},
	}
	http.Handle("/math.v1.Math/Double", connect.NewUnaryHandler("/math.v1.Math/Double", double,
		connect.WithInterceptors(limit.Interceptor())))
}

// A client makes at most five calls a second to each host, and obeys RetryInfo.
func ExampleClientInterceptor() {
	limit := &connectlimit.ClientInterceptor{
		Limiter: weir.Must(weir.New(weir.LeakyBucket{Limit: 5, Per: time.Second})),
	}
	client := connect.NewClient[wrapperspb.Int64Value, wrapperspb.Int64Value](http.DefaultClient, "https://math.example/math.v1.Math/Double",
		connect.WithGRPC(), connect.WithInterceptors(limit.Interceptor()))
	_ = client
	fmt.Println(limit.HeldUntil("math.example").IsZero())
	// Output: true
}

// A client that makes only unary calls, in the Connect protocol, can use httplimit instead.
func Example_transport() {
	httpClient := &http.Client{Transport: &httplimit.Transport{
		Limiter: weir.Must(weir.New(weir.LeakyBucket{Limit: 5, Per: time.Second})),
	}}
	_ = connect.NewClient[wrapperspb.Int64Value, wrapperspb.Int64Value](httpClient, "https://math.example/math.v1.Math/Double")
}
