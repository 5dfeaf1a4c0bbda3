package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weir-go/weir"
)

// The texts of the statuses reveal nothing about the call, its key or an error.
const (
	tooMany     = "too many requests, try again after the time in RetryInfo"
	tooLarge    = "the request counts for more than is ever granted at once"
	noKey       = "the request does not tell whose it is"
	unavailable = "the request could not be checked, try again later"
)

// quotaFailure returns a QuotaFailure that contains the text of a policy. Its subject is empty,
// because the subject would be the key. If p is nil, quotaFailure returns nil.
func quotaFailure(p weir.Policy) (*anypb.Any, error) {
	if p == nil {
		return nil, nil
	}
	if _, err := p.Decider(); err != nil {
		return nil, err
	}
	return detail(&errdetails.QuotaFailure{
		Violations: []*errdetails.QuotaFailure_Violation{{Description: strings.ToValidUTF8(fmt.Sprint(p), "?")}},
	}), nil
}

// detail packs a message. That cannot fail, because the message has valid strings and numbers only.
func detail(m proto.Message) *anypb.Any {
	packed, _ := anypb.New(m)
	return packed
}

// refusal returns the error of a call that was denied by res. quota may be nil.
func refusal(res weir.Result, quota *anypb.Any) error {
	s := &spb.Status{Code: int32(codes.ResourceExhausted), Message: tooMany}
	switch {
	case res.RetryAfter == weir.Never:
		s.Message = tooLarge
	case res.RetryAfter > 0:
		s.Details = append(s.Details, detail(&errdetails.RetryInfo{RetryDelay: durationpb.New(res.RetryAfter)}))
	}
	if quota != nil {
		s.Details = append(s.Details, quota)
	}
	return status.ErrorProto(s)
}

// pushBack sets how long the client must wait before it retries (gRFC A6), in milliseconds rounded
// up. A negative number means that it must not retry.
func pushBack(ctx context.Context, res weir.Result) {
	ms := int64(-1)
	switch {
	case res.RetryAfter == weir.Never:
	case res.RetryAfter > 0:
		ms = int64((res.RetryAfter-1)/time.Millisecond) + 1
	default: // not known
		return
	}
	// It fails only outside of a server, as in a test of a handler.
	_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", strconv.FormatInt(ms, 10)))
}

// failure returns the error of a call on which there is no decision.
func failure(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return status.FromContextError(ended).Err()
	}
	if errors.Is(err, ErrNoKey) {
		return status.Error(codes.InvalidArgument, noKey)
	}
	return status.Error(codes.Unavailable, unavailable)
}
