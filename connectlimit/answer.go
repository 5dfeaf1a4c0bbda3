package connectlimit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// The texts of the errors reveal nothing about the call, its key or the cause.
var (
	errTooMany     = errors.New("too many requests, try again after the time in RetryInfo")
	errTooLarge    = errors.New("the request counts for more than is ever granted at once")
	errNoKey       = errors.New("the request does not tell whose it is")
	errUnavailable = errors.New("the request could not be checked, try again later")
)

// quotaFailure returns a QuotaFailure that contains the text of a policy. Its subject is empty,
// because the subject would be the key. If p is nil, quotaFailure returns nil.
func quotaFailure(p weir.Policy) (*connect.ErrorDetail, error) {
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
func detail(m proto.Message) *connect.ErrorDetail {
	d, _ := connect.NewErrorDetail(m)
	return d
}

// refusal returns the error of a call that was denied by res. quota may be nil.
func refusal(res weir.Result, quota *connect.ErrorDetail) *connect.Error {
	text := errTooMany
	if res.RetryAfter == weir.Never {
		text = errTooLarge
	}
	err := connect.NewError(connect.CodeResourceExhausted, text)
	if res.RetryAfter > 0 && res.RetryAfter != weir.Never {
		err.AddDetail(detail(&errdetails.RetryInfo{RetryDelay: durationpb.New(res.RetryAfter)}))
	}
	if quota != nil {
		err.AddDetail(quota)
	}
	return err
}

// pushBack sets how long a gRPC client must wait before it retries (gRFC A6), in milliseconds
// rounded up. A negative number means that it must not retry.
func pushBack(err *connect.Error, res weir.Result) {
	switch {
	case res.RetryAfter == weir.Never:
		err.Meta().Set("Grpc-Retry-Pushback-Ms", "-1")
	case res.RetryAfter > 0: // else it is not known
		err.Meta().Set("Grpc-Retry-Pushback-Ms", roundUp(res.RetryAfter, time.Millisecond))
	}
}

// retryAfter tells a client of the Connect protocol how long to wait, as httplimit does, in seconds
// rounded up.
func retryAfter(err *connect.Error, res weir.Result) {
	err.Meta().Set("Cache-Control", "no-store")
	if res.RetryAfter > 0 && res.RetryAfter != weir.Never {
		err.Meta().Set("Retry-After", roundUp(res.RetryAfter, time.Second))
	}
}

// roundUp returns d, which is positive, in whole units.
func roundUp(d, unit time.Duration) string {
	return strconv.FormatInt(int64((d-1)/unit)+1, 10)
}

// failure returns the error of a call on which there is no decision.
func failure(ctx context.Context, err error) error {
	switch ended := ctx.Err(); {
	case ended != nil:
		return connect.NewError(codeOfContext(ended), ended)
	case errors.Is(err, httplimit.ErrNoKey):
		return connect.NewError(connect.CodeInvalidArgument, errNoKey)
	}
	return connect.NewError(connect.CodeUnavailable, errUnavailable)
}

// codeOfContext returns the code for the error of a context that has ended.
func codeOfContext(ended error) connect.Code {
	if errors.Is(ended, context.DeadlineExceeded) {
		return connect.CodeDeadlineExceeded
	}
	return connect.CodeCanceled
}
