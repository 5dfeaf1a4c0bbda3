package httplimit_test

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/httplimit"
)

// The proxies of these tests: 10.0.0.0/8 and 2001:db8:f::/48. A client is 203.0.113.x.
var proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:f::/48")}

const proxy = "10.0.0.1:4711"

// A forwardedCase is the lines of a field as they arrive over a connection, and the key of the
// request.
type forwardedCase struct {
	name  string
	peer  string
	lines []string
	want  string
}

func checkForwarded(t *testing.T, f httplimit.KeyFunc, field string, cases []forwardedCase) {
	t.Helper()
	for _, c := range cases {
		r := from(c.peer)
		r.Header[field] = c.lines
		assert.Equal(t, c.want, keyOf(f, r), "%s: %q", c.name, c.lines)
	}
}

func TestForwardedIP(t *testing.T) {
	checkForwarded(t, httplimit.ForwardedIP(proxies...), "X-Forwarded-For", []forwardedCase{
		{"no proxy", "203.0.113.9:1", nil, "203.0.113.9"},
		{"one proxy", proxy, []string{"203.0.113.9"}, "203.0.113.9"},
		{"one over IPv6", "[2001:db8:f::1]:80", []string{"203.0.113.9"}, "203.0.113.9"},
		{"one mapped to IPv6", "[::ffff:10.0.0.1]:80", []string{"203.0.113.9"}, "203.0.113.9"},
		{"two proxies", proxy, []string{"203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		{"on two lines", proxy, []string{"203.0.113.9", "10.0.0.2"}, "203.0.113.9"},
		{"with ports", proxy, []string{"203.0.113.9:1234,10.0.0.2:80"}, "203.0.113.9"},
		{"IPv6", proxy, []string{"2001:db8:1::9"}, "2001:db8:1::/64"},
		{"IPv6 in brackets", proxy, []string{"[2001:db8:1::9]:80"}, "2001:db8:1::/64"},
		{"IPv6 and zone", proxy, []string{"2001:db8:1::9%eth0"}, "2001:db8:1::/64"},
		{"mapped", proxy, []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		{"spaces", proxy, []string{" \t203.0.113.9\t ,\t 10.0.0.2 "}, "203.0.113.9"},
		{"a proxy itself", proxy, []string{"10.0.0.7"}, "10.0.0.7"},
		{"a proxy itself, directly", proxy, nil, "10.0.0.1"},

		// Garbage ends the walk at the last trusted hop.
		{"empty", proxy, []string{""}, "10.0.0.1"},
		{"unknown", proxy, []string{"203.0.113.9, unknown"}, "10.0.0.1"},
		{"empty element", proxy, []string{"203.0.113.9,"}, "10.0.0.1"},
		{"empty line", proxy, []string{"203.0.113.9", ""}, "10.0.0.1"},
		{"further out", proxy, []string{"203.0.113.9, x, 10.0.0.2"}, "10.0.0.2"},
		{"a name", proxy, []string{"203.0.113.9, localhost"}, "10.0.0.1"},
		{"no peer", "@", []string{"203.0.113.9"}, "error"},
	})
}

func TestForwardedHeader(t *testing.T) {
	checkForwarded(t, httplimit.ForwardedHeader(proxies...), "Forwarded", []forwardedCase{
		{"no proxy", "203.0.113.9:1", nil, "203.0.113.9"},
		{"one proxy", proxy, []string{"for=203.0.113.9"}, "203.0.113.9"},
		{"other parameters", proxy, []string{"by=10.0.0.1;for=203.0.113.9;proto=https;host=a.example"}, "203.0.113.9"},
		{"case", proxy, []string{"FOR=203.0.113.9;Proto=http"}, "203.0.113.9"},
		{"quoted, with port", proxy, []string{`for="203.0.113.9:80"`}, "203.0.113.9"},
		{"IPv6", proxy, []string{`for="[2001:db8:1::9]:4711"`}, "2001:db8:1::/64"},
		{"hidden port", proxy, []string{`for="[2001:db8:1::9]:_Port-1"`}, "2001:db8:1::/64"},
		{"two proxies", proxy, []string{"for=203.0.113.9, for=10.0.0.2;by=10.0.0.1"}, "203.0.113.9"},
		{"on two lines", proxy, []string{"for=203.0.113.9", "for=10.0.0.2"}, "203.0.113.9"},
		{"quoted comma", proxy, []string{`for=203.0.113.9, for=10.0.0.2;host="a,for=6.6.6.6"`}, "203.0.113.9"},
		{"quoted quote", proxy, []string{`for=203.0.113.9;host="a\",for=6.6.6.6;\\"`}, "203.0.113.9"},
		{"quoted pairs", proxy, []string{`for="\203.0\.113.\9"`}, "203.0.113.9"},
		{"quoted backslash", proxy, []string{`for="203.0.113.9\\"`}, "10.0.0.1"},
		{"spaces", proxy, []string{"\tfor=203.0.113.9 ; proto=http , for=10.0.0.2"}, "203.0.113.9"},
		{"empty pairs", proxy, []string{"proto=https;;for=203.0.113.9"}, "203.0.113.9"},
		{"empty pairs and spaces", proxy, []string{`;; ;for="203.0.113.9";;proto=https ; ;`}, "203.0.113.9"},
		{"empty pairs, and two for", proxy, []string{"for=203.0.113.9;;for=203.0.113.9"}, "10.0.0.1"},
		{"empty pairs alone", proxy, []string{"for=203.0.113.9, ;;"}, "10.0.0.1"},
		{"spaces and quotes", proxy, []string{`host="a" ; for="203.0.113.9" ;`}, "203.0.113.9"},

		{"unknown", proxy, []string{"for=203.0.113.9, for=unknown"}, "10.0.0.1"},
		{"hidden", proxy, []string{"for=203.0.113.9, for=_hidden"}, "10.0.0.1"},
		{"no for", proxy, []string{"for=203.0.113.9, proto=https"}, "10.0.0.1"},
		{"two for", proxy, []string{"for=203.0.113.9;for=203.0.113.9"}, "10.0.0.1"},
		{"empty for", proxy, []string{"for="}, "10.0.0.1"},
		{"empty quotes", proxy, []string{`for=""`}, "10.0.0.1"},
		{"empty", proxy, []string{""}, "10.0.0.1"},
		{"empty element", proxy, []string{"for=203.0.113.9,"}, "10.0.0.1"},
		{"open quote", proxy, []string{`for="203.0.113.9`}, "10.0.0.1"},
		{"after the quote", proxy, []string{`for="203.0.113.9"x`}, "10.0.0.1"},
		{"not a pair", proxy, []string{"203.0.113.9"}, "10.0.0.1"},
		{"no peer", "@", []string{"for=203.0.113.9"}, "error"},
	})
}

// Each function reads its own field only. A client can send the other, and all the names that
// people use.
func TestP15_OtherFieldsAreNotRead(t *testing.T) {
	r := from(proxy, "X-Real-Ip", "198.51.100.1", "True-Client-Ip", "198.51.100.1", "Cf-Connecting-Ip", "198.51.100.1",
		"X-Client-Ip", "198.51.100.1", "X_Forwarded_For", "198.51.100.1")
	xff, fwd := httplimit.ForwardedIP(proxies...), httplimit.ForwardedHeader(proxies...)
	r.Header.Set("Forwarded", "for=198.51.100.1")
	assert.Equal(t, "10.0.0.1", keyOf(xff, r))
	assert.Equal(t, "10.0.0.1", keyOf(httplimit.RemoteIP, r))
	r.Header.Del("Forwarded")
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	assert.Equal(t, "10.0.0.1", keyOf(fwd, r))
}

// Without the field a request is limited, too.
func TestP15_AbsentHeaderIsNotUnlimited(t *testing.T) {
	for name, f := range map[string]httplimit.KeyFunc{
		"X-Forwarded-For": httplimit.ForwardedIP(proxies...), "Forwarded": httplimit.ForwardedHeader(proxies...),
	} {
		l, _ := frozen(per(2, time.Minute))
		h := httplimit.Middleware{Limiter: l, Key: f}.Wrap(ok)
		for _, want := range []int{200, 200, 429, 429} {
			assert.Equal(t, want, serve(h, from(proxy)).StatusCode, name)
		}
	}
}

// A client behind a real reverse proxy gets its own allowance, and cannot change which by what it
// sends.
func TestP15_SpoofingThroughARealServer(t *testing.T) {
	l, _ := frozen(per(2, time.Minute))
	loop := netip.MustParsePrefix("127.0.0.0/8")
	limited := httplimit.Middleware{Limiter: l, Key: httplimit.ForwardedIP(loop)}.Wrap(ok)
	url, client := loopback(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Add("X-Forwarded-For", r.Header.Get("Client")) // as a proxy on this machine appends
		limited.ServeHTTP(w, r)
	}))
	for _, c := range []struct {
		client, writes string
		want           int
	}{
		{"203.0.113.9", "198.51.100.1", 200},
		{"203.0.113.9", "198.51.100.2", 200},
		{"203.0.113.9", "198.51.100.3", 429}, // no evading
		{"203.0.113.9", "127.0.0.1", 429},
		{"203.0.113.8", "203.0.113.7", 200},
		{"203.0.113.8", "203.0.113.7", 200},
		{"203.0.113.8", "203.0.113.7", 429},
		{"203.0.113.7", "203.0.113.9", 200}, // not locked out
	} {
		resp, _ := do(t, client, "GET", url, "Client", c.client, "X-Forwarded-For", c.writes)
		assert.Equal(t, c.want, resp.StatusCode, "%+v", c)
	}
}

// An error names the given value, and what is allowed.
func TestForwarded_Errors(t *testing.T) {
	for _, c := range []struct {
		key  httplimit.KeyFunc
		peer string
		want string
	}{
		{httplimit.ForwardedIP(proxies...), "@", `weir: Request.RemoteAddr is "@", must be an IP address, with or without a port`},
		{httplimit.ForwardedHeader(proxies...), "", `weir: Request.RemoteAddr is "", must be an IP address, with or without a port`},
		{httplimit.RemoteIP, "a.example:80", `weir: Request.RemoteAddr is "a.example:80", must be an IP address, with or without a port`},
		{
			httplimit.ForwardedIP(proxies[0], netip.Prefix{}, netip.PrefixFrom(netip.MustParseAddr("10.0.0.1"), 33)), proxy,
			"weir: ClientIP.Proxies[1] is of invalid IP and -1 bits, must be an address and as many bits as it has at most, such as 10.0.0.0/8\n" +
				"weir: ClientIP.Proxies[2] is of 10.0.0.1 and -1 bits, must be an address and as many bits as it has at most, such as 10.0.0.0/8",
		},
	} {
		_, err := c.key(from(c.peer))
		assert.EqualError(t, err, c.want)
	}
}

func TestForwardedIP_TrustedPrefixes(t *testing.T) {
	r := from("10.0.0.1:1", "X-Forwarded-For", "203.0.113.9")
	mapped := netip.MustParsePrefix("::ffff:10.0.0.0/104")
	assert.Equal(t, "203.0.113.9", keyOf(httplimit.ForwardedIP(mapped), r), "10.0.0.0/8, written otherwise")
	assert.Equal(t, "10.0.0.1", keyOf(httplimit.ForwardedIP(netip.MustParsePrefix("::/1")), r), "IPv6 is not IPv4")
	assert.Equal(t, "10.0.0.1", keyOf(httplimit.ForwardedIP(), r), "nobody is trusted")
	assert.Equal(t, "error", keyOf(httplimit.ForwardedIP(netip.Prefix{}), r), "fails closed")
	for _, all := range []string{"0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96"} { // else the key is what the client has written
		_, err := httplimit.ForwardedIP(netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix(all))(r)
		assert.EqualError(t, err, "weir: ClientIP.Proxies[1] is "+all+", must not contain all clients: each could choose its key. "+
			"If the addresses of the proxies are not known, use Hops")
	}

	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f := httplimit.ForwardedIP(trusted...)
	trusted[0] = netip.MustParsePrefix("0.0.0.0/0")
	assert.Equal(t, "203.0.113.9", keyOf(f, from("10.0.0.1:1", "X-Forwarded-For", "198.51.100.1, 203.0.113.9")),
		"changes afterwards have no effect")
}
