package httplimit_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/httplimit"
)

// All ways of writing an address are one key.
func TestP15_AddressVariants(t *testing.T) {
	for want, variants := range map[string][]string{
		"1.2.3.4": {
			"1.2.3.4", "1.2.3.4:80", "::ffff:1.2.3.4", "::FFFF:1.2.3.4", "[::ffff:1.2.3.4]:80", "[::ffff:1.2.3.4]",
			"::ffff:102:304", "[0:0:0:0:0:ffff:0102:0304]:1", "[::ffff:1.2.3.4%eth0]:80",
		},
		"2001:db8::/64": {
			"2001:db8::1", "2001:DB8::1", "2001:db8:0:0::1", "[2001:db8::1]", "[2001:db8::1]:443", "2001:db8::2:3",
			"2001:0db8:0000:0000:ffff:ffff:ffff:ffff", "2001:db8::1.2.3.4", "[2001:db8::1%eth0]:443",
		},
		"2001:db8:0:1::/64": {"2001:db8:0:1::1", "[2001:db8:0:1:ffff::]:1"},
		"fe80::/64":         {"fe80::1%eth0", "fe80::1%eth1", "[fe80::1%1]:80", "fe80::1"},
		"::/64":             {"::1", "[::1]:80", "::"},
	} {
		for _, v := range variants {
			assert.Equal(t, want, keyOf(httplimit.RemoteIP, from(v)), v)
		}
	}
}

func TestRemoteIP_NoAddressIsAnError(t *testing.T) {
	for _, s := range []string{
		"", "@", "pipe", "localhost:80", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.256", "1.2.3.4:", "1.2.3.4:http", "1.2.3.4:80:80",
		"[1.2.3.4]:80", "1.2.3.4%eth0", "fe80::1%", "[::1", "::1]", "[::1]80", "[::1]:", "[]:80", "[::1]:80]", ":80", " 1.2.3.4", "1.2.3.4 ",
		"::ffff:1.2.3.4:80:1", ":::1", "1::2::3", "[[::1]]:80", "\x00",
	} {
		assert.Equal(t, "error", keyOf(httplimit.RemoteIP, from(s)), "%q", s)
	}
}

func TestClientIP_Bits(t *testing.T) {
	for _, c := range []struct {
		client httplimit.ClientIP
		addr   string
		want   string
	}{
		{httplimit.ClientIP{}, "192.0.2.77", "192.0.2.77"},
		{httplimit.ClientIP{IPv4Bits: 32}, "192.0.2.77", "192.0.2.77"},
		{httplimit.ClientIP{IPv4Bits: 24}, "192.0.2.77", "192.0.2.0/24"},
		{httplimit.ClientIP{IPv4Bits: 24}, "::ffff:192.0.2.77", "192.0.2.0/24"}, // unmapped before it is masked
		{httplimit.ClientIP{IPv4Bits: 8}, "192.0.2.77", "192.0.0.0/8"},
		{httplimit.ClientIP{IPv6Bits: 48}, "192.0.2.77", "192.0.2.77"},
		{httplimit.ClientIP{IPv6Bits: 48}, "2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"},
		{httplimit.ClientIP{IPv6Bits: 32}, "2001:db8:1:2:3:4:5:6", "2001:db8::/32"},
		{httplimit.ClientIP{IPv6Bits: 56}, "2001:db8:1:2ff:3:4:5:6", "2001:db8:1:200::/56"},
		{httplimit.ClientIP{IPv6Bits: 128}, "[2001:DB8::0:1]:80", "2001:db8::1"},
		{httplimit.ClientIP{IPv6Bits: 128}, "::ffff:1.2.3.4", "1.2.3.4"},
		{httplimit.ClientIP{IPv4Bits: 7}, "192.0.2.77", "error"},
		{httplimit.ClientIP{IPv4Bits: 33}, "192.0.2.77", "error"},
		{httplimit.ClientIP{IPv6Bits: 31}, "192.0.2.77", "error"},
		{httplimit.ClientIP{IPv6Bits: 129}, "192.0.2.77", "error"},
		{httplimit.ClientIP{IPv6Bits: -1}, "192.0.2.77", "error"},
	} {
		for name, f := range map[string]httplimit.KeyFunc{
			"RemoteIP": c.client.RemoteIP(), "ForwardedIP": c.client.ForwardedIP(), "ForwardedHeader": c.client.ForwardedHeader(),
			"HeaderIP": c.client.HeaderIP("X-Real-IP"),
		} {
			assert.Equal(t, c.want, keyOf(f, from(c.addr)), "%s %+v %s", name, c.client, c.addr)
		}
	}
}

// A KeyFunc of one's own has the keys of the others.
func TestClientIP_Key(t *testing.T) {
	office := netip.MustParsePrefix("198.51.100.0/24")
	c := httplimit.ClientIP{IPv6Bits: 56, Skip: []netip.Prefix{office}}
	key := func(r *http.Request) (string, error) {
		addr, _ := netip.ParseAddr(r.Header.Get("Addr"))
		return c.Key(addr)
	}
	for addr, want := range map[string]string{
		"203.0.113.9": "203.0.113.9", "::ffff:203.0.113.9": "203.0.113.9", "2001:db8::1%eth0": "2001:db8::/56",
		"64:ff9b::203.0.113.9": "203.0.113.9", "198.51.100.7": "skip", "": "error",
	} {
		assert.Equal(t, want, keyOf(key, request("Addr", addr)), addr)
	}
	_, err := httplimit.ClientIP{IPv4Bits: 7}.Key(office.Addr())
	assert.EqualError(t, err, "weir: ClientIP.IPv4Bits is 7, must be from 8 to 32")
}

// An error names every field that is not valid.
func TestClientIP_Errors(t *testing.T) {
	c := httplimit.ClientIP{
		IPv4Bits: 33, IPv6Bits: 16, Hops: -1, Proxies: make([]netip.Prefix, 1), Skip: make([]netip.Prefix, 1),
		NAT64: []netip.Prefix{netip.MustParsePrefix("64:ff9b:1::/50"), netip.MustParsePrefix("10.0.0.0/32"), {}},
	}
	for name, key := range map[string]httplimit.KeyFunc{
		"RemoteIP": c.RemoteIP(), "ForwardedIP": c.ForwardedIP(), "ForwardedHeader": c.ForwardedHeader(), "HeaderIP": c.HeaderIP("X-Real-IP"),
	} {
		_, err := key(from("203.0.113.9:1"))
		for _, fault := range []string{
			"IPv4Bits is 33", "IPv6Bits is 16", "Hops is -1", "Proxies[0] is", "Skip[0] is",
			"NAT64[0] is 64:ff9b:1::/50", "NAT64[1] is 10.0.0.0/32", "NAT64[2] is invalid Prefix, must be an IPv6 prefix of 32, 40",
		} {
			assert.ErrorContains(t, err, "weir: ClientIP."+fault, name)
		}
	}
}

// 500 users of an IPv6-only network whose translator maps IPv4 into one /96 do not share a key. A
// client with a whole /64 of IPv6, or with 65,536 of them by 6to4, still has one.
func TestP15_TranslatedClientsHaveTheirOwnKeys(t *testing.T) {
	keys := func(format string) int {
		seen := map[string]bool{}
		for i := range 500 {
			seen[keyOf(httplimit.RemoteIP, from(fmt.Sprintf(format, i/250+1, i%250+1)))] = true
		}
		return len(seen)
	}
	assert.Equal(t, 500, keys("[64:ff9b::203.0.%d.%d]:80"))
	assert.Equal(t, 1, keys("[2001:db8::%d:%d]:80"))
	assert.Equal(t, 1, keys("[2002:cb00:7109:%d::%d]:80"))
}

// An IPv4 client cannot evade its limit, nor an IPv6 client by the addresses of its own network.
func TestP15_VaryingTheAddressOnLoopback(t *testing.T) {
	l, _ := frozen(per(2, 1))
	limited := httplimit.Middleware{Limiter: l, Key: httplimit.RemoteIP}.Wrap(ok)
	url, client := loopback(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = r.Header.Get("Addr")
		limited.ServeHTTP(w, r)
	}))
	for _, c := range []struct {
		addr string
		want int
	}{
		{"1.2.3.4:1", 200},
		{"[::ffff:1.2.3.4]:2", 200},
		{"1.2.3.4:3", 429},
		{"[::ffff:1.2.3.4]:4", 429},
		{"[::ffff:1.2.3.5]:5", 200}, // not all mapped addresses are one
		{"[2001:db8::1]:1", 200},
		{"[2001:db8::2]:1", 200},
		{"[2001:db8::3]:1", 429},
		{"[2001:db8:0:1::3]:1", 200},
	} {
		resp, _ := do(t, client, "GET", url, "Addr", c.addr)
		assert.Equal(t, c.want, resp.StatusCode, c.addr)
	}
}
