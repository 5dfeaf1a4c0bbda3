package httplimit_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/httplimit"
)

// FuzzRemoteAddr: a key is an address or network that has the address in it, in its one form,
// whatever RemoteAddr is; or there is an error and no key.
func FuzzRemoteAddr(f *testing.F) {
	for _, s := range []string{
		"1.2.3.4:80", "[::ffff:1.2.3.4]:80", "2001:db8::1", "[fe80::1%eth0]:1", "@", "[::1", "[]:80", "1.2.3.4:_x", "::ffff:1.2.3.4%",
	} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(24))
	}
	f.Fuzz(func(t *testing.T, remote string, bits uint8) {
		s := httplimit.ClientIP{IPv4Bits: 8 + int(bits)%25, IPv6Bits: 32 + int(bits)%97}
		key, err := s.RemoteIP()(from(remote))
		forwarded, errForwarded := s.ForwardedIP()(from(remote))
		assert.Equal(t, key, forwarded, "without the field they are the same")
		assert.Equal(t, err, errForwarded)
		if err != nil {
			require.Empty(t, key)
			return
		}
		network, isNetwork := canonical(t, key)
		// The whole address is found by /32 and /128, and lies in that network.
		whole, err := httplimit.ClientIP{IPv4Bits: 32, IPv6Bits: 128}.RemoteIP()(from(remote))
		require.NoError(t, err)
		addr := netip.MustParseAddr(whole)
		require.Equal(t, addr.Unmap(), addr)
		require.True(t, network.Contains(addr))
		require.Equal(t, isNetwork, network.Bits() < addr.BitLen())

		// Written in other ways it has the same key.
		for _, other := range []string{whole, "[" + netip.AddrFrom16(addr.As16()).String() + "]:1"} {
			again, err := s.RemoteIP()(from(other))
			require.NoError(t, err)
			require.Equal(t, key, again, other)
		}
	})
}

// canonical parses a key, which must be in the one form that netip writes.
func canonical(t *testing.T, key string) (p netip.Prefix, isNetwork bool) {
	t.Helper()
	if strings.Contains(key, "/") {
		p, err := netip.ParsePrefix(key)
		require.NoError(t, err)
		require.Equal(t, p.Masked().String(), key)
		return p, true
	}
	a, err := netip.ParseAddr(key)
	require.NoError(t, err)
	require.Equal(t, a.Unmap().WithZone("").String(), key)
	return netip.PrefixFrom(a, a.BitLen()), false
}

// FuzzForwardedIP: whatever a client writes, its key is the address that the trusted proxy saw it
// at.
func FuzzForwardedIP(f *testing.F) {
	for _, s := range []string{"", ",", "198.51.100.1", "198.51.100.1, 10.0.0.2", "10.0.0.2,", "::ffff:10.0.0.1", `"`, "\n10.0.0.1", "[::1]:80"} {
		f.Add(s, s)
	}
	key := httplimit.ForwardedIP(proxies...)
	f.Fuzz(func(t *testing.T, first, second string) {
		checkSpoofing(t, key, "X-Forwarded-For", first, second, []string{"203.0.113.9", " 203.0.113.9:1 ", "203.0.113.9, 10.0.0.2", "203.0.113.9,[2001:db8:f::2]:80"})
	})
}

func FuzzForwardedHeader(f *testing.F) {
	for _, s := range []string{
		"", ",", "for=198.51.100.1", `for="198.51.100.1`, `for=198.51.100.1;x="\`, `for="[::1]:80";by="a,b"`, `"`, `\`, `\"`, "for=10.0.0.2, for=10.0.0.2", ";;=,=;",
	} {
		f.Add(s, s)
	}
	key := httplimit.ForwardedHeader(proxies...)
	f.Fuzz(func(t *testing.T, first, second string) {
		checkSpoofing(t, key, "Forwarded", first, second, []string{
			"for=203.0.113.9", `FOR="203.0.113.9:1";by="a\"b,\\";proto=http`, `for=203.0.113.9, for="10.0.0.2"`, `host="x,y";for=203.0.113.9,for="[2001:db8:f::2]:80"`,
		})
	})
}

// checkSpoofing sends what a client wrote, on two lines, past no proxy and through proxies that
// append, on the same line or on one of their own.
func checkSpoofing(t *testing.T, key httplimit.KeyFunc, field, first, second string, appended []string) {
	t.Helper()
	r := from("203.0.113.9:1")
	r.Header[field] = []string{first, second}
	require.Equal(t, "203.0.113.9", keyOf(key, r), "past the proxy")

	for _, by := range appended {
		for _, lines := range [][]string{{first, second, by}, {first, second + "," + by}, {first + ", " + by}, {by}} {
			r := from(proxy)
			r.Header[field] = lines
			require.Equal(t, "203.0.113.9", keyOf(key, r), "%q", lines)
		}
	}

	// The proxy wrote this field, so it names the client: by an address, or by garbage. There is a
	// key in any case.
	r = from(proxy)
	r.Header[field] = []string{first, second}
	got, err := key(r)
	require.NoError(t, err)
	canonical(t, got)
}

// FuzzUsedUp: whatever a server sends, a hold is never negative.
func FuzzUsedUp(f *testing.F) {
	for _, s := range []string{"", "0", `"a";r=0;t=1`, `"a`, `";r=0;t=99999999999999999999`, "6m0s", "2027-03-04T12:00:00Z", "1804161660", "-1"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, limit, reset string) {
		h := http.Header{}
		for name, value := range map[string]string{
			"RateLimit": limit, "Retry-After": reset, "Retry-After-Ms": reset, "Date": limit,
			"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset,
		} {
			h.Set(name, value)
		}
		for _, status := range []int{200, 403, 429} {
			require.GreaterOrEqual(t, httplimit.UsedUp(&http.Response{StatusCode: status, Header: h}), time.Duration(0))
		}
	})
}
