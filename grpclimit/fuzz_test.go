package grpclimit_test

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weir-go/weir/grpclimit"
	"github.com/weir-go/weir/httplimit"
)

// FuzzForwardedIP: whatever metadata a client sends, its key is that of the same request over HTTP.
// A call that bypasses the proxies has the key of its own address.
func FuzzForwardedIP(f *testing.F) {
	for _, s := range []string{"", ",", "198.51.100.1", "198.51.100.1, 10.0.0.2", "::ffff:10.0.0.1", `"`, "\n10.0.0.1", "[::1]:80"} {
		f.Add(s, s)
	}
	proxies := netip.MustParsePrefix("10.0.0.0/24")
	overHTTP := httplimit.ForwardedIP(proxies)
	key := grpclimit.FromHTTP(overHTTP)
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, at := range []string{"203.0.113.9:1", "10.0.0.7:1"} {
			ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: tcp(at)})
			ctx = metadata.NewIncomingContext(ctx, metadata.MD{"x-forwarded-for": {first, second}})
			want, wantErr := overHTTP(&http.Request{RemoteAddr: at, Header: http.Header{"X-Forwarded-For": {first, second}}})
			got, err := key(ctx, grpclimit.Call{})
			require.Equal(t, want, got)
			require.Equal(t, wantErr, err)
			if at == "203.0.113.9:1" {
				require.Equal(t, "203.0.113.9", got)
			}
		}
	})
}

// FuzzRetryAfter: whatever a server sends as details, a hold is never negative.
func FuzzRetryAfter(f *testing.F) {
	const retryInfo = "type.googleapis.com/google.rpc.RetryInfo"
	f.Add(retryInfo, []byte("\x0a\x02\x08\x07"))
	f.Add(retryInfo, []byte("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add(retryInfo, []byte("\x0a"))
	f.Add("x", []byte{})
	f.Fuzz(func(t *testing.T, url string, value []byte) {
		s := &spb.Status{Code: int32(codes.ResourceExhausted), Details: []*anypb.Any{{TypeUrl: url, Value: value}, nil}}
		require.GreaterOrEqual(t, grpclimit.RetryAfter(status.ErrorProto(s)), time.Duration(0))
	})
}
