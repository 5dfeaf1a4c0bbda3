package grpclimit

import (
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// RetryAfter is the default of ClientInterceptor.Hold. If the code of err is RESOURCE_EXHAUSTED or
// UNAVAILABLE, it returns the longest time in a RetryInfo of err. With another code, or without a
// RetryInfo, it returns 0. Details that are malformed are ignored.
func RetryAfter(err error) time.Duration {
	s, ok := status.FromError(err)
	if !ok || s.Code() != codes.ResourceExhausted && s.Code() != codes.Unavailable {
		return 0
	}
	longest := time.Duration(0)
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok && info.GetRetryDelay().IsValid() {
			longest = max(longest, info.GetRetryDelay().AsDuration())
		}
	}
	return longest
}
