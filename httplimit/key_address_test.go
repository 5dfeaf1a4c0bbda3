package httplimit_test

import (
	"net/http"
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

func TestSubnet(t *testing.T) {
	for _, c := range []struct {
		subnet httplimit.Subnet
		addr   string
		want   string
	}{
		{httplimit.Subnet{}, "192.0.2.77", "192.0.2.77"},
		{httplimit.Subnet{IPv4Bits: 32}, "192.0.2.77", "192.0.2.77"},
		{httplimit.Subnet{IPv4Bits: 24}, "192.0.2.77", "192.0.2.0/24"},
		{httplimit.Subnet{IPv4Bits: 24}, "::ffff:192.0.2.77", "192.0.2.0/24"}, // unmapped before it is masked
		{httplimit.Subnet{IPv4Bits: 8}, "192.0.2.77", "192.0.0.0/8"},
		{httplimit.Subnet{IPv6Bits: 48}, "192.0.2.77", "192.0.2.77"},
		{httplimit.Subnet{IPv6Bits: 48}, "2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"},
		{httplimit.Subnet{IPv6Bits: 32}, "2001:db8:1:2:3:4:5:6", "2001:db8::/32"},
		{httplimit.Subnet{IPv6Bits: 56}, "2001:db8:1:2ff:3:4:5:6", "2001:db8:1:200::/56"},
		{httplimit.Subnet{IPv6Bits: 128}, "[2001:DB8::0:1]:80", "2001:db8::1"},
		{httplimit.Subnet{IPv6Bits: 128}, "::ffff:1.2.3.4", "1.2.3.4"},
		{httplimit.Subnet{IPv4Bits: 7}, "192.0.2.77", "error"},
		{httplimit.Subnet{IPv4Bits: 33}, "192.0.2.77", "error"},
		{httplimit.Subnet{IPv6Bits: 31}, "192.0.2.77", "error"},
		{httplimit.Subnet{IPv6Bits: 129}, "192.0.2.77", "error"},
		{httplimit.Subnet{IPv6Bits: -1}, "192.0.2.77", "error"},
	} {
		for name, f := range map[string]httplimit.KeyFunc{
			"RemoteIP": c.subnet.RemoteIP, "ForwardedIP": c.subnet.ForwardedIP(), "ForwardedHeader": c.subnet.ForwardedHeader(),
		} {
			assert.Equal(t, c.want, keyOf(f, from(c.addr)), "%s %+v %s", name, c.subnet, c.addr)
		}
	}
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
