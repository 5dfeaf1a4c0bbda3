package httplimit_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/httplimit"
)

// by makes prefixes for the tables.
func by(prefixes ...string) (list []netip.Prefix) {
	for _, p := range prefixes {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}

// many repeats what a client writes, as in a chain of 65,000 hops.
func many(element string) string { return strings.Repeat(element, 65_000) }

// The client 203.0.113.9 writes whatever it likes, and its proxy adds the address that it saw. The
// client can neither evade its limit by a new address, nor lock out another client by that client's
// address, nor be taken for a client that is not limited.
func TestP15_Spoofing(t *testing.T) {
	const client, direct = "203.0.113.9", "203.0.113.9:1"
	byNumber := httplimit.ClientIP{Hops: 2}
	mixed := httplimit.ClientIP{Hops: 1, Proxies: proxies}
	office := httplimit.ClientIP{Proxies: proxies, Skip: by("198.51.100.0/24", "2001:db8:0:1::5/128", "::ffff:192.0.2.0/120")}
	own := httplimit.ClientIP{Proxies: proxies, NAT64: by("64:ff9b:1::/48", "2001:db8:64::/96", "2001:db8:a00::/40",
		"2001:d00::/32", "2001:db8:e:ab00::/56", "2001:db8:c:d::/64")}
	cases := 0
	for _, table := range []struct {
		name, field string
		key         httplimit.KeyFunc
		cases       []forwardedCase
	}{
		{"X-Forwarded-For", "X-Forwarded-For", httplimit.ForwardedIP(proxies...), []forwardedCase{
			{"past the proxy", direct, []string{"198.51.100.1"}, client},
			{"past the proxy, as a proxy", direct, []string{"198.51.100.1, 10.0.0.2"}, client},
			{"left-most", proxy, []string{"198.51.100.1, 203.0.113.9"}, client},
			{"on a line before", proxy, []string{"198.51.100.1", "203.0.113.9"}, client},
			{"on many lines", proxy, []string{"198.51.100.1", "198.51.100.2", "10.0.0.2", "203.0.113.9"}, client},
			{"empty lines", proxy, []string{"", "", "203.0.113.9"}, client},
			{"as a proxy", proxy, []string{"198.51.100.1, 10.0.0.2, 203.0.113.9"}, client},
			{"proxies only", proxy, []string{"10.0.0.3, 10.0.0.2, 203.0.113.9"}, client},
			{"as a proxy, mapped", proxy, []string{"198.51.100.1, ::ffff:10.0.0.2, 203.0.113.9"}, client},
			{"garbage", proxy, []string{`",,;:[x`, "\x00, 203.0.113.9"}, client},
			{"empty elements", proxy, []string{"198.51.100.1,,,,203.0.113.9"}, client},
			{"an empty element at the end", proxy, []string{"198.51.100.1", ",203.0.113.9"}, client},
			{"a chain of 65,000 clients", proxy, []string{many("198.51.100.1, ") + "203.0.113.9"}, client},
			{"a chain of 65,000 proxies", proxy, []string{many("10.0.0.2, ") + "203.0.113.9"}, client},
			{"65,000 commas", proxy, []string{many(",") + "203.0.113.9"}, client},
			{"65,000 proxies that are", proxy, []string{"198.51.100.1, 203.0.113.9" + many(", 10.0.0.2")}, client},
			{"behind two proxies", proxy, []string{"198.51.100.1, 203.0.113.9, 10.0.0.2"}, client},
			{"behind two, on two lines", proxy, []string{"198.51.100.1, 203.0.113.9", "10.0.0.2"}, client},
			{"a port", proxy, []string{"198.51.100.1:1, 203.0.113.9:65535"}, client},
			{"mapped", proxy, []string{"198.51.100.1, ::ffff:203.0.113.9"}, client},
			{"mapped, in hex", proxy, []string{"198.51.100.1, ::ffff:cb00:7109"}, client},
			{"mapped, in long hex", proxy, []string{"0:0:0:0:0:ffff:cb00:7109"}, client},
			{"mapped, with port", proxy, []string{"[::FFFF:203.0.113.9]:443"}, client},
			{"a zone", proxy, []string{"2001:db8:1::9%a"}, "2001:db8:1::/64"},
			{"another zone", proxy, []string{"[2001:db8:1::a%b,c]:1"}, "10.0.0.1"},
			{"upper case", proxy, []string{"2001:DB8:1:0:F::9"}, "2001:db8:1::/64"},
			{"another address of the /64", proxy, []string{"2001:db8:1::ffff:ffff:ffff:ffff"}, "2001:db8:1::/64"},
			{"in octal", proxy, []string{"198.51.100.1, 0313.0.113.9"}, "10.0.0.1"},
			{"in hex", proxy, []string{"198.51.100.1, 0xcb.0.0x71.9"}, "10.0.0.1"},
			{"as one number", proxy, []string{"198.51.100.1, 3405803785"}, "10.0.0.1"},
			{"three numbers", proxy, []string{"198.51.100.1, 203.0.28937"}, "10.0.0.1"},
			{"in quotes", proxy, []string{`198.51.100.1, "203.0.113.9"`}, "10.0.0.1"},
			{"a quote left open", proxy, []string{`"198.51.100.1, 203.0.113.9`}, client},
			{"with a prefix", proxy, []string{"198.51.100.1, 203.0.113.9/24"}, "10.0.0.1"},
			{"as Forwarded has it", proxy, []string{"for=198.51.100.1, 203.0.113.9"}, client},
			{"full-width digits", proxy, []string{"２０３.0.113.9"}, "10.0.0.1"},
			{"a line break", proxy, []string{"198.51.100.1, 203.0.113.9\n"}, "10.0.0.1"},

			{"NAT64", proxy, []string{"64:ff9b::cb00:7109"}, client},
			{"NAT64, with dots", proxy, []string{"[64:ff9b::203.0.113.9]:80"}, client},
			{"NAT64 of a proxy is none", proxy, []string{"198.51.100.1, 64:ff9b::10.0.0.2"}, "10.0.0.2"},
			{"NAT64 of a proxy, directly", "[64:ff9b::10.0.0.2]:1", []string{"198.51.100.1"}, "10.0.0.2"},
			{"beside the NAT64 prefix", proxy, []string{"64:ff9b:0:0:0:1:cb00:7109"}, "64:ff9b::/64"},
			{"NAT64 of local use", proxy, []string{"64:ff9b:1::cb00:7109"}, "64:ff9b:1::/64"},
			{"6to4", proxy, []string{"2002:cb00:7109::1"}, client},
			{"6to4, another /64", proxy, []string{"2002:cb00:7109:ffff::1"}, client},
			{"6to4 of a proxy is none", proxy, []string{"198.51.100.1, 2002:a00:2::1"}, "10.0.0.2"},
			{"6to4 of a proxy, directly", "[2002:a00:2::1]:1", []string{"198.51.100.1"}, "10.0.0.2"},
			{"Teredo", proxy, []string{"2001:0:cb00:7109:8000:63bf:3fff:fdd2"}, "2001:0:cb00:7109::/64"},
		}},
		{"Forwarded", "Forwarded", httplimit.ForwardedHeader(proxies...), []forwardedCase{
			{"past the proxy", direct, []string{"for=198.51.100.1"}, client},
			{"left-most", proxy, []string{"for=198.51.100.1, for=203.0.113.9"}, client},
			{"on a line before", proxy, []string{"for=198.51.100.1", "for=203.0.113.9"}, client},
			{"open quote", proxy, []string{`for="198.51.100.1, for=203.0.113.9`}, client},
			{"quote to be closed", proxy, []string{`for=198.51.100.1;x=", for="203.0.113.9"`}, client},
			{"escape at the end", proxy, []string{`for=198.51.100.1;x="\, for=203.0.113.9;host="a"`}, client},
			{"65,000 quotes", proxy, []string{many(`"`) + ", for=203.0.113.9"}, client},
			{"65,000 backslashes", proxy, []string{many(`\`) + ", for=203.0.113.9"}, client},
			{"a chain of 65,000 proxies", proxy, []string{many("for=10.0.0.2,") + "for=203.0.113.9"}, client},
			{"65,000 parameters", proxy, []string{many("for=198.51.100.1;") + ", for=203.0.113.9"}, client},
			{"65,000 empty pairs", proxy, []string{many(";") + ", " + many(";") + "for=203.0.113.9"}, client},
			{"by and host", proxy, []string{"for=203.0.113.9;by=198.51.100.1;host=198.51.100.1"}, client},
			{"two for", proxy, []string{"for=203.0.113.9;for=198.51.100.1"}, "10.0.0.1"},
			{"for in a value", proxy, []string{`host="for=198.51.100.1";for=203.0.113.9`}, client},
			{"for in a name", proxy, []string{"xfor=198.51.100.1;for=203.0.113.9"}, client},
			{"hex", proxy, []string{`for="[2001:DB8:1::0009]"`}, "2001:db8:1::/64"},
			{"mapped", proxy, []string{`for="[::ffff:203.0.113.9]"`}, client},
			{"a port that is hidden", proxy, []string{`for="203.0.113.9:_a"`}, client},
			{"NAT64", proxy, []string{`for="[64:ff9b::cb00:7109]:80"`}, client},
			{"NAT64 of a proxy", proxy, []string{`for=198.51.100.1, for="[64:ff9b::a00:2]"`}, "10.0.0.2"},
			{"6to4", proxy, []string{`for="[2002:cb00:7109:1::1]"`}, client},
		}},
		{"a field of one address", "Cf-Connecting-Ip", httplimit.HeaderIP("CF-Connecting-IP", proxies...), []forwardedCase{
			{"through the proxy", proxy, []string{"203.0.113.9"}, client},
			{"through the proxy, with spaces", proxy, []string{"\t203.0.113.9 "}, client},
			{"past the proxy", direct, []string{"198.51.100.1"}, client},
			{"past the proxy, as it", direct, []string{"10.0.0.2"}, client},
			{"two lines", proxy, []string{"198.51.100.1", "203.0.113.9"}, "10.0.0.1"},
			{"two equal lines", proxy, []string{"203.0.113.9", "203.0.113.9"}, "10.0.0.1"},
			{"a list", proxy, []string{"198.51.100.1, 203.0.113.9"}, "10.0.0.1"},
			{"no line", proxy, nil, "10.0.0.1"},
			{"an empty line", proxy, []string{""}, "10.0.0.1"},
			{"a name", proxy, []string{"localhost"}, "10.0.0.1"},
			{"65,000 addresses", proxy, []string{many("203.0.113.9")}, "10.0.0.1"},
			{"mapped", proxy, []string{"::ffff:203.0.113.9"}, client},
			{"a port", proxy, []string{"203.0.113.9:80"}, client},
			{"another address of the /64", proxy, []string{"2001:db8:1::abc"}, "2001:db8:1::/64"},
			{"a zone", proxy, []string{"2001:db8:1::abc%x"}, "2001:db8:1::/64"},
			{"the proxy itself", proxy, []string{"10.0.0.2"}, "10.0.0.2"},
			{"NAT64", proxy, []string{"64:ff9b::203.0.113.9"}, client},
			{"NAT64 of a proxy, directly", "[64:ff9b::a00:1]:1", []string{"198.51.100.1"}, "10.0.0.1"},
			{"6to4", proxy, []string{"2002:cb00:7109::"}, client},
			{"no peer", "@", []string{"203.0.113.9"}, "error"},
		}},
		{"two hops", "X-Forwarded-For", byNumber.ForwardedIP(), []forwardedCase{
			{"through both", "192.0.2.1:1", []string{"203.0.113.9, 192.0.2.2"}, client},
			{"left-most", "192.0.2.1:1", []string{"198.51.100.1, 203.0.113.9, 192.0.2.2"}, client},
			{"on a line before", "192.0.2.1:1", []string{"198.51.100.1", "203.0.113.9", "192.0.2.2"}, client},
			{"a chain of 65,000", "192.0.2.1:1", []string{many("198.51.100.1, ") + "203.0.113.9, 192.0.2.2"}, client},
			{"no field", "192.0.2.1:1", nil, "192.0.2.1"},
			{"past the outer one", "192.0.2.1:1", []string{"203.0.113.9"}, client},
			{"unknown", "192.0.2.1:1", []string{"198.51.100.1, unknown, 192.0.2.2"}, "192.0.2.2"},
		}},
		{"two hops, Forwarded", "Forwarded", byNumber.ForwardedHeader(), []forwardedCase{
			{"left-most", "192.0.2.1:1", []string{"for=198.51.100.1, for=203.0.113.9, for=192.0.2.2"}, client},
		}},
		{"one hop, and proxies", "X-Forwarded-For", mixed.ForwardedIP(), []forwardedCase{
			{"the first is trusted by number", "192.0.2.1:1", []string{"198.51.100.1, 203.0.113.9, 10.0.0.2"}, client},
			{"the second is not", "192.0.2.1:1", []string{"198.51.100.1, 203.0.113.9"}, client},
			{"the first is trusted by both", proxy, []string{"198.51.100.1, 203.0.113.9"}, client},
		}},
		{"one hop, one address", "X-Real-Ip", mixed.HeaderIP("x-real-ip"), []forwardedCase{
			{"any peer", "192.0.2.1:1", []string{"203.0.113.9"}, client},
		}},
		{"an office that is not limited", "X-Forwarded-For", office.ForwardedIP(), []forwardedCase{
			{"from it", proxy, []string{"198.51.100.7"}, "skip"},
			{"from it, directly", "198.51.100.7:1", nil, "skip"},
			{"one address of a /64", proxy, []string{"2001:db8:0:1::5"}, "skip"},
			{"its neighbour", proxy, []string{"2001:db8:0:1::6"}, "2001:db8:0:1::/64"},
			{"a prefix that is mapped", proxy, []string{"192.0.2.9"}, "skip"},
			{"claimed by a client", proxy, []string{"198.51.100.7, 203.0.113.9"}, client},
			{"claimed directly", direct, []string{"198.51.100.7"}, client},
			{"by NAT64", proxy, []string{"64:ff9b::198.51.100.7"}, "198.51.100.7"},
			{"by 6to4", proxy, []string{"2002:c633:6407::1"}, "198.51.100.7"},
		}},
		{"translators of one's own", "X-Forwarded-For", own.ForwardedIP(), []forwardedCase{
			{"/96", proxy, []string{"2001:db8:64::cb00:7109"}, client},
			{"/64", proxy, []string{"2001:db8:c:d:cb:71:900::"}, client},
			{"/64, and bits that must be zero", proxy, []string{"2001:db8:c:d:1cb:71:900::"}, "2001:db8:c:d::/64"},
			{"/56", proxy, []string{"2001:db8:e:abcb:0:7109::"}, client},
			{"/48", proxy, []string{"64:ff9b:1:cb00:71:900::"}, client},
			{"/40", proxy, []string{"2001:db8:acb:71:9::"}, client},
			{"/32", proxy, []string{"2001:d00:cb00:7109::"}, client},
			{"64:ff9b::/96 as well", proxy, []string{"64:ff9b::cb00:7109"}, client},
			{"of a proxy", proxy, []string{"198.51.100.1, 2001:db8:64::a00:2"}, "10.0.0.2"},
		}},
	} {
		cases += len(table.cases)
		t.Run(table.name, func(t *testing.T) { checkForwarded(t, table.key, table.field, table.cases) })
	}
	assert.GreaterOrEqual(t, cases, 100)
}
