package connectlimit_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weir-go/weir/connectlimit"
)

// with is an error with details.
func with(t *testing.T, code connect.Code, details ...proto.Message) error {
	t.Helper()
	e := connect.NewError(code, errors.New("no"))
	for _, m := range details {
		d, err := connect.NewErrorDetail(m)
		require.NoError(t, err)
		e.AddDetail(d)
	}
	return e
}

func TestRetryAfter(t *testing.T) {
	info := func(seconds int64, nanos int32) error {
		return with(t, connect.CodeResourceExhausted, &errdetails.QuotaFailure{}, &errdetails.RetryInfo{}, // one without a time
			&errdetails.RetryInfo{RetryDelay: &durationpb.Duration{Seconds: seconds, Nanos: nanos}})
	}
	minute := &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Minute)}
	for want, errs := range map[time.Duration][]error{
		7*time.Second + 1: {info(7, 1), fmt.Errorf("wrapped: %w", info(7, 1))},
		math.MaxInt64:     {info(300_000_000_000, 0)}, // over 292 years
		time.Minute:       {with(t, connect.CodeUnavailable, minute)},
		0: {
			nil, errors.New("no code"), with(t, connect.CodeResourceExhausted), with(t, connect.CodeInternal, minute),
			info(-7, 0), info(7, -1), info(7, 2e9), info(math.MaxInt64, 0), // not valid
		},
	} {
		for _, err := range errs {
			assert.Equal(t, want, connectlimit.RetryAfter(err), "%v", err)
		}
	}
}

// FuzzRetryAfter: whatever a server sends as details, a hold is never negative.
func FuzzRetryAfter(f *testing.F) {
	const retryInfo = "type.googleapis.com/google.rpc.RetryInfo"
	f.Add(retryInfo, []byte("\x0a\x02\x08\x07"))
	f.Add(retryInfo, []byte("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add(retryInfo, []byte("\x0a"))
	f.Add("x", []byte{})
	f.Fuzz(func(t *testing.T, url string, value []byte) {
		err := with(t, connect.CodeUnavailable, &anypb.Any{TypeUrl: url, Value: value})
		require.GreaterOrEqual(t, connectlimit.RetryAfter(err), time.Duration(0))
	})
}
