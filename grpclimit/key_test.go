package grpclimit_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/weir-go/weir/grpclimit"
	"github.com/weir-go/weir/httplimit"
)

// from is the context of a call over a connection from addr, with metadata given as name, value.
func from(addr net.Addr, md ...string) context.Context {
	ctx := peer.NewContext(context.Background(), &peer.Peer{Addr: addr})
	return metadata.NewIncomingContext(ctx, metadata.Pairs(md...))
}

func tcp(addr string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr)) }

// text is an address of a network that is not package net's.
type text string

func (text) Network() string  { return "pipe" }
func (a text) String() string { return string(a) }

func TestP15_PeerIP(t *testing.T) {
	for addr, want := range map[net.Addr]string{
		tcp("192.0.2.1:80"):             "192.0.2.1",
		tcp("[::ffff:192.0.2.1]:80"):    "192.0.2.1",
		tcp("[2001:db8::1]:80"):         "2001:db8::/64",
		tcp("[fe80::1%eth0]:80"):        "fe80::/64",
		tcp("[64:ff9b::192.0.2.1]:80"):  "192.0.2.1",
		text("192.0.2.1:80"):            "192.0.2.1",
		text("[2001:db8:0:1::2]:50051"): "2001:db8:0:1::/64",
	} {
		key, err := grpclimit.PeerIP(from(addr), grpclimit.Call{})
		require.NoError(t, err)
		assert.Equal(t, want, key, addr)
	}
	key, err := grpclimit.PeerIPOf(httplimit.ClientIP{IPv6Bits: 48})(from(tcp("[2001:db8:1:2::3]:80")), grpclimit.Call{})
	require.NoError(t, err)
	assert.Equal(t, "2001:db8:1::/48", key)
	skip := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	skipping := grpclimit.PeerIPOf(httplimit.ClientIP{Skip: skip})
	skip[0] = netip.MustParsePrefix("198.51.100.0/24") // which comes too late
	_, err = skipping(from(tcp("192.0.2.1:80")), grpclimit.Call{})
	assert.ErrorIs(t, err, grpclimit.ErrSkip)
	_, err = grpclimit.PeerIPOf(httplimit.ClientIP{IPv4Bits: 99})(from(tcp("192.0.2.1:80")), grpclimit.Call{})
	assert.ErrorContains(t, err, "IPv4Bits is 99")
}

// A call that lacks what a KeyFunc needs gets an error that names it, and no panic.
func TestKeys_Missing(t *testing.T) {
	var none *net.TCPAddr
	for _, c := range []struct {
		ctx   context.Context
		key   grpclimit.KeyFunc
		names string
		noKey bool
	}{
		{context.Background(), grpclimit.PeerIP, "no peer", false},
		{from(nil), grpclimit.PeerIP, "no peer", false},
		{from(none), grpclimit.PeerIP, `"<nil>"`, false},
		{from(&net.UnixAddr{Name: "@", Net: "unix"}), grpclimit.PeerIP, `"@"`, false},
		{from(text("bufconn")), grpclimit.PeerIP, `"bufconn"`, false},
		{from(text("")), grpclimit.PeerIP, `""`, false},
		{context.Background(), grpclimit.Metadata("api-key"), "no value of api-key", true},
		{from(nil), grpclimit.Metadata("api-key"), "no value of api-key", true},
		{from(nil, "api-key", ""), grpclimit.Metadata("api-key"), "no value of api-key", true},
		{from(nil, "api-key", "a", "api-key", "b"), grpclimit.Metadata("api-key"), "several values of api-key", true},
		{context.Background(), grpclimit.FromHTTP(httplimit.RemoteIP), `RemoteAddr is ""`, false},
		{context.Background(), grpclimit.FromHTTP(httplimit.Header("api-key")), "Api-Key", true},
		{context.Background(), grpclimit.Target, "without a target", true},
		{context.Background(), grpclimit.Or(), "Or of no KeyFunc", false},
		{context.Background(), grpclimit.Join(grpclimit.Method, grpclimit.PeerIP), "no peer", false},
	} {
		key, err := c.key(c.ctx, grpclimit.Call{})
		assert.Empty(t, key)
		assert.ErrorContains(t, err, c.names)
		assert.ErrorContains(t, err, "weir: ")
		assert.Equal(t, c.noKey, errors.Is(err, grpclimit.ErrNoKey), c.names)
	}
}

func TestKeys(t *testing.T) {
	ctx := from(tcp("10.0.0.7:55555"), "API-Key", "blue", "x-forwarded-for", "198.51.100.1, 203.0.113.9", ":authority", "shop.example")
	call := grpclimit.Call{Method: "/s/M", Target: "dns:///shop"}
	proxies := netip.MustParsePrefix("10.0.0.0/24")
	type contextKey struct{}
	for _, c := range []struct {
		key  grpclimit.KeyFunc
		want string
	}{
		{grpclimit.Metadata("API-KEY"), "blue"},
		{grpclimit.Method, "/s/M"},
		{grpclimit.Target, "dns:///shop"},
		{grpclimit.FromHTTP(httplimit.RemoteIP), "10.0.0.7"},
		{grpclimit.FromHTTP(httplimit.ForwardedIP(proxies)), "203.0.113.9"},
		{grpclimit.FromHTTP(httplimit.Header("Api-Key")), "blue"},
		{grpclimit.FromHTTP(httplimit.Path), "/s/M"},
		{grpclimit.FromHTTP(httplimit.Pattern), "/s/M"},
		{grpclimit.FromHTTP(httplimit.Method), "POST"},
		{grpclimit.FromHTTP(httplimit.TargetHost), ""},
		{grpclimit.FromHTTP(func(r *http.Request) (string, error) { return r.Host, nil }), "shop.example"},
		{grpclimit.FromHTTP(httplimit.ContextValue(contextKey{})), "alice"},
		{grpclimit.Join(grpclimit.Method, grpclimit.Metadata("api-key")), "4:/s/M4:blue"},
		{grpclimit.Or(grpclimit.Metadata("api-key"), grpclimit.PeerIP), "blue"},
		{grpclimit.Or(grpclimit.Metadata("other"), grpclimit.PeerIP), "\x001:10.0.0.7"},
	} {
		key, err := c.key(context.WithValue(ctx, contextKey{}, "alice"), call)
		assert.Equal(t, c.want, key)
		assert.Equal(t, c.want == "", err != nil)
	}
}

// A value that a client sends is never the key of another's address.
func TestOr_KeysOfDifferentFunctionsDiffer(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	limit := limitTo(l)
	limit.Key = grpclimit.Or(grpclimit.Metadata("api-key"), grpclimit.PeerIP)
	c := dial(t, limit)
	ctx := metadata.AppendToOutgoingContext(context.Background(), "api-key", "192.0.2.1")
	_, err := c.EmptyCall(ctx, &pb.Empty{})
	require.NoError(t, err)
	_, err = c.EmptyCall(ctx, &pb.Empty{})
	require.Error(t, err)
	assert.NoError(t, empty(c), "the address has its own allowance")
	assert.Error(t, empty(c))
}

// A zero byte in the metadata, or a separator, makes no key equal another.
func TestR11_JoinedKeysDiffer(t *testing.T) {
	key := grpclimit.Join(grpclimit.Metadata("a"), grpclimit.Metadata("b"))
	seen := map[string]string{}
	for _, a := range []string{"x", "x:", "1:x", "x1:y", "\x00", "y"} {
		for _, b := range []string{"x", "x:", "1:x", "x1:y", "\x00", "y"} {
			k, err := key(from(nil, "a", a, "b", b), grpclimit.Call{})
			require.NoError(t, err)
			assert.NotContains(t, seen, k, "%q %q and %s", a, b, seen[k])
			seen[k] = a + " " + b
		}
	}
}
