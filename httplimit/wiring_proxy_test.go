package httplimit_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// The key may be a network that the address of the proxy is in.
func TestWiring_ForwardedByNetwork(t *testing.T) {
	for _, proxy := range []string{"10.0.0.1", "[fd00::1]"} {
		for _, c := range []httplimit.ClientIP{{}, {IPv4Bits: 24, IPv6Bits: 48}, {IPv4Bits: 8, IPv6Bits: 128}} {
			told := traffic(httplimit.Middleware{Key: c.RemoteIP()}, 10, behind(proxy))
			assert.Equal(t, []httplimit.Check{httplimit.CheckForwarded}, told, "%s %+v", proxy, c)
		}
	}
}

// Behind a proxy that is trusted, clients in its own network have the same key as the proxy.
func TestWiring_ClientsInTheNetworkOfTheProxy(t *testing.T) {
	trusting := httplimit.ClientIP{IPv4Bits: 24, Proxies: by("10.0.0.1/32", "fd00::1/128")}
	for name, c := range map[string]struct {
		key              httplimit.KeyFunc
		proxy, field, by string
	}{
		"IPv4":           {trusting.ForwardedIP(), "10.0.0.1:1", "X-Forwarded-For", "198.51.100.1, 10.0.0.%d"},
		"IPv6":           {trusting.ForwardedIP(), "[fd00::1]:1", "X-Forwarded-For", "[fd00::2:%d]:80"},
		"Forwarded":      {trusting.ForwardedHeader(), "[fd00::1]:1", "Forwarded", `for=unknown, for="[fd00::2:%d]";by="a,b"`},
		"a single field": {trusting.HeaderIP("X-Real-IP"), "10.0.0.1:1", "X-Real-IP", "10.0.0.%d"},
	} {
		told := traffic(httplimit.Middleware{Key: c.key}, 99, func(i int) *http.Request {
			return from(c.proxy, c.field, fmt.Sprintf(c.by, 2+i%200))
		})
		assert.Empty(t, told, name)
	}
}

// Clients of a private network may come through proxies that have public addresses.
func TestWiring_PrivateClientsBehindPublicProxies(t *testing.T) {
	proxies := by("198.51.100.0/24")
	for name, key := range map[string]httplimit.KeyFunc{
		"by address": httplimit.ForwardedIP(proxies...),
		"by number":  httplimit.ClientIP{Hops: 2}.ForwardedIP(),
	} {
		for _, want := range [][]httplimit.Check{nil, {httplimit.CheckProxyKey}} {
			told := traffic(httplimit.Middleware{Key: key}, 1000, func(i int) *http.Request {
				list := fmt.Sprintf("10.1.%d.%d", i/250, i%250)
				if want != nil { // another proxy, which is not trusted
					list = visitorAddr(i) + ", " + list
				}
				r := from("198.51.100.1:1", "X-Forwarded-For", list)
				r.Header.Add("X-Forwarded-For", "198.51.100.2")
				return r
			})
			assert.Equal(t, want, told, name)
		}
	}
}

// The address is found in a key that was combined of combined keys, or hashed.
func TestWiring_AddressInKey(t *testing.T) {
	many := runs.Long(3000, 200) // ten are enough for this check
	apiKey := httplimit.Header("X-API-Key")
	told := []httplimit.Check{httplimit.CheckForwarded}
	for name, wrap := range map[string]func(httplimit.KeyFunc) httplimit.KeyFunc{
		"Or in Or": func(ip httplimit.KeyFunc) httplimit.KeyFunc {
			return httplimit.Or(apiKey, httplimit.Or(httplimit.BasicUser, ip))
		},
		"Join in Join": func(ip httplimit.KeyFunc) httplimit.KeyFunc {
			return httplimit.Join(httplimit.Method, httplimit.Join(httplimit.Path, ip))
		},
		"Hashed": func(ip httplimit.KeyFunc) httplimit.KeyFunc { return httplimit.Hashed(secret, ip) },
		"all": func(ip httplimit.KeyFunc) httplimit.KeyFunc {
			return httplimit.Join(httplimit.Method, httplimit.Hashed(secret, httplimit.Or(apiKey, httplimit.Join(httplimit.Path, ip))))
		},
	} {
		key, right := wrap(httplimit.RemoteIP), wrap(httplimit.ForwardedIP(by("10.0.0.1/32")...))
		assert.Equal(t, told, traffic(httplimit.Middleware{Key: key}, many, behind("10.0.0.1")), name)
		assert.Empty(t, traffic(httplimit.Middleware{Key: right}, many, behind("10.0.0.1")), name)
		limits := []httplimit.Limit{
			{Name: "user", Limiter: weir.Must(weir.New(roomy)), Key: is("a user"), Cost: func(*http.Request) int { return 1 }},
			{Name: "address", Limiter: weir.Must(weir.New(roomy)), Key: key},
		}
		var w warnings
		h := httplimit.Middleware{Limits: limits, Warn: w.warn, Unchecked: []httplimit.Check{httplimit.CheckOneKey}}.Wrap(ok)
		for i := range many {
			serve(h, behind("10.0.0.1")(i))
		}
		assert.Equal(t, told, w.told, name)
	}
}

// A page takes many requests, so that the first requests come from few clients. If the key is the
// address of a proxy that writes no field, that is told later. The advice is not to use Everyone.
func TestWiring_ProxyOfPages(t *testing.T) {
	pages := func(i int) *http.Request {
		return from("10.0.0.1:1234", "User-Agent", fmt.Sprint("browser ", i/30))
	}
	told, many := []httplimit.Check{httplimit.CheckProxyKey}, manyRequests()
	for _, key := range []httplimit.KeyFunc{
		httplimit.RemoteIP, httplimit.Hashed(secret, httplimit.RemoteIP), httplimit.Join(httplimit.Method, httplimit.RemoteIP),
	} {
		assert.Empty(t, traffic(httplimit.Middleware{Key: key}, 899, pages))
		assert.Equal(t, told, traffic(httplimit.Middleware{Key: key}, many, pages))
		assert.Empty(t, traffic(httplimit.Middleware{Key: key, Unchecked: told}, many, pages))
	}
	public := func(i int) *http.Request { return from("192.0.2.1:1234", "User-Agent", fmt.Sprint("browser ", i/30)) }
	assert.Equal(t, []httplimit.Check{httplimit.CheckOneKey}, traffic(httplimit.Middleware{Key: httplimit.RemoteIP}, many, public))
}

// In a private network of IPv6, all clients share a /64, and no proxy is at fault. The warning then
// says what to do about that.
func TestWiring_ClientsOfPrivateNetwork(t *testing.T) {
	network := func(i int) *http.Request { return from(fmt.Sprintf("[fd00::%x]:1234", 1+i%50)) }
	proxy := func(i int) *http.Request { return from("10.0.0.1:1234", "User-Agent", fmt.Sprint("browser ", i)) }
	for _, c := range []struct {
		clients httplimit.ClientIP
		request func(int) *http.Request
		share   string // the key in the message
		advice  bool
	}{
		{httplimit.ClientIP{}, network, "fd00::/64", true},
		{httplimit.ClientIP{IPv4Bits: 24}, proxy, "10.0.0.0/24", true},
		{httplimit.ClientIP{}, proxy, "10.0.0.1:", false},
		{httplimit.ClientIP{IPv6Bits: 128}, network, "", false},
	} {
		message := ""
		h := httplimit.Middleware{
			Limiter: weir.Must(weir.New(roomy)), Key: c.clients.RemoteIP(),
			Warn: func(check httplimit.Check, m string) { message += string(check) + " " + m },
		}.Wrap(ok)
		for i := range 1000 {
			serve(h, c.request(i))
		}
		assert.Contains(t, message, c.share)
		assert.Equal(t, c.share != "", strings.HasPrefix(message, "proxy-key "), message)
		assert.Equal(t, c.advice, strings.Contains(message, "set IPv4Bits or IPv6Bits"), message)
	}
}
