package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// Keys that all clients are meant to share are no mistake.
func TestWiring_SharedKeys(t *testing.T) {
	patterned := func(i int) *http.Request {
		r := direct(i)
		r.URL.Path, r.Pattern = fmt.Sprint("/items/", i), "/items/{id}"
		return r
	}
	const pathOfAll = "/search"
	for name, c := range map[string]struct {
		key     httplimit.KeyFunc
		request func(int) *http.Request
	}{
		"everyone but some": {func(r *http.Request) (string, error) {
			if r.Method == http.MethodOptions {
				return "", httplimit.ErrSkip
			}
			return httplimit.Everyone(r)
		}, direct},
		"everyone without a user": {httplimit.Or(httplimit.BasicUser, httplimit.Everyone), direct},
		"route":                   {httplimit.Pattern, patterned},
		"route of gin": {func(r *http.Request) (string, error) {
			return r.Method + " " + r.Pattern, nil
		}, patterned},
		"route of gin, without a route": {func(r *http.Request) (string, error) {
			return r.Method + " " + r.Pattern, nil
		}, direct},
		"method": {httplimit.Method, direct},
		"path":   {httplimit.Path, func(i int) *http.Request { r := direct(i); r.URL.Path = pathOfAll; return r }},
		"both":   {httplimit.Join(httplimit.Method, httplimit.Join(httplimit.Pattern, httplimit.Everyone)), patterned},
		"hashed": {httplimit.Hashed(secret, httplimit.Everyone), direct},
		"a part hashed": {
			httplimit.Join(httplimit.Method, httplimit.Or(httplimit.BasicUser, httplimit.Hashed(secret, httplimit.Pattern))), patterned,
		},
	} {
		assert.Empty(t, traffic(httplimit.Middleware{Key: c.key}, 1000, c.request), name)
	}
	for _, unused := range []httplimit.KeyFunc{nil, httplimit.RemoteIP} {
		var w warnings
		check := httplimit.Middleware{Limiter: weir.Must(weir.New(roomy)), Key: unused, Warn: w.warn}.Checker()
		for i := range 1000 {
			check.Check(httptest.NewRecorder(), direct(i), "the database", 1)
		}
		assert.Empty(t, w.told)
	}

	for _, key := range []string{"2:ab", "1:GET", "3:GET9:anonymous", "9:anonymous", "1:", ":", "-1:x", "x:y"} {
		told := traffic(httplimit.Middleware{Key: func(*http.Request) (string, error) { return key, nil }}, 1000, direct)
		assert.Equal(t, []httplimit.Check{httplimit.CheckOneKey}, told, key)
	}
}

// A few of the first requests may have no key.
func TestWiring_OneKeyOfNearlyAll(t *testing.T) {
	for without, want := range map[int][]httplimit.Check{100: {httplimit.CheckOneKey}, 101: nil} {
		n := 0
		key := func(*http.Request) (string, error) {
			if n++; n <= without {
				return "", httplimit.ErrNoKey
			}
			return "anonymous", nil
		}
		told := traffic(httplimit.Middleware{Key: key, Unchecked: []httplimit.Check{httplimit.CheckKey}}, 2000, direct)
		assert.Equal(t, want, told, without)
	}
}

// A CDN has public addresses, and so have clients that write its field. Only if nearly all requests
// have the field, they come from a CDN.
func TestWiring_ForwardedByCDN(t *testing.T) {
	through := func(i int, field, client string) *http.Request {
		return from(fmt.Sprintf("198.51.100.%d:1234", i%20), field, client)
	}
	cdn := func(i int) *http.Request { return through(i, "CF-Connecting-IP", visitorAddr(i)) }
	network, many := by("198.51.100.0/24"), manyRequests()
	told := []httplimit.Check{httplimit.CheckForwarded}
	for name, c := range map[string]struct {
		key     httplimit.KeyFunc
		n       int
		request func(int) *http.Request
		want    []httplimit.Check
	}{
		"nobody trusted": {httplimit.RemoteIP, 100, cdn, told},
		"once":           {httplimit.RemoteIP, many, cdn, told},
		"not yet":        {httplimit.RemoteIP, 99, cdn, nil},
		"by route":       {httplimit.Join(httplimit.Method, httplimit.RemoteIP), 100, cdn, told},
		"of IPv6": {httplimit.RemoteIP, 100, func(i int) *http.Request {
			return from(fmt.Sprintf("[2001:db8::%x]:1", i), "X-Forwarded-For", visitorAddr(i))
		}, told},
		"a few others": {httplimit.RemoteIP, 110, func(i int) *http.Request {
			if i%11 == 0 {
				return direct(i)
			}
			return cdn(i)
		}, told},
		"many others": {httplimit.RemoteIP, many, func(i int) *http.Request {
			if i%10 == 0 {
				return direct(i)
			}
			return cdn(i)
		}, nil},
		"trusted":    {httplimit.HeaderIP("CF-Connecting-IP", network...), many, cdn, nil},
		"by another": {httplimit.ForwardedIP(network...), 100, cdn, told},
		"proxies of other people": {httplimit.RemoteIP, many, func(i int) *http.Request {
			return through(i, "X-Forwarded-For", fmt.Sprintf("10.0.0.%d", i%250))
		}, nil},
		"a client's own address": {httplimit.RemoteIP, many, func(i int) *http.Request {
			return from(visitorAddr(i)+":1", "X-Forwarded-For", visitorAddr(i))
		}, nil},
	} {
		assert.Equal(t, c.want, traffic(httplimit.Middleware{Key: c.key}, c.n, c.request), name)
		assert.Empty(t, traffic(httplimit.Middleware{Key: c.key, Unchecked: told}, c.n, c.request), name)
	}
}

// With too many Hops, a client that adds an address to the field chooses its key. The requests of all
// others show the fault.
func TestWiring_Hops(t *testing.T) {
	told, many := []httplimit.Check{httplimit.CheckHops}, manyRequests()
	forwarded := func(i int) *http.Request {
		return from("10.0.0.1:1", "Forwarded", "for="+visitorAddr(i))
	}
	lies := func(i int) *http.Request {
		return from("10.0.0.1:1", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d, %s", i%250, visitorAddr(i)))
	}
	two := httplimit.ClientIP{Hops: 2}
	for name, c := range map[string]struct {
		key     httplimit.KeyFunc
		n       int
		request func(int) *http.Request
		want    []httplimit.Check
	}{
		"one too many":              {two.ForwardedIP(), 10, behind("10.0.0.1"), told},
		"once":                      {two.ForwardedIP(), many, behind("10.0.0.1"), told},
		"in Forwarded":              {two.ForwardedHeader(), 10, forwarded, told},
		"a part of the key":         {httplimit.Join(httplimit.Method, two.ForwardedIP()), 10, behind("10.0.0.1"), told},
		"not yet":                   {two.ForwardedIP(), 9, behind("10.0.0.1"), nil},
		"right":                     {two.ForwardedIP(), many, behind("10.0.0.1", "10.0.0.2"), nil},
		"one too few, with lies":    {httplimit.ClientIP{Hops: 1}.ForwardedIP(), many, lies, nil},
		"past all proxies":          {two.ForwardedIP(), many, direct, nil},
		"trusted by address, right": {httplimit.ForwardedIP(by("10.0.0.0/24")...), many, behind("10.0.0.1"), nil},
	} {
		assert.Equal(t, c.want, traffic(httplimit.Middleware{Key: c.key}, c.n, c.request), name)
		assert.Empty(t, traffic(httplimit.Middleware{Key: c.key, Unchecked: told}, c.n, c.request), name)
	}
}

// Several Limits can have the same Key. A request counts once.
func TestWiring_HopsOfSeveralLimits(t *testing.T) {
	var w warnings
	m := httplimit.Middleware{Warn: w.warn}
	for _, name := range []string{"minute", "hour", "day"} {
		m.Limits = append(m.Limits, httplimit.Limit{
			Name: name, Limiter: weir.Must(weir.New(roomy)), Key: httplimit.ClientIP{Hops: 2}.ForwardedIP(),
		})
	}
	h := m.Wrap(ok)
	for i := range 9 {
		serve(h, behind("10.0.0.1")(i))
	}
	assert.Empty(t, w.told)
	serve(h, behind("10.0.0.1")(9))
	assert.Equal(t, []httplimit.Check{httplimit.CheckHops}, w.told)
}

// A Key that fails would refuse all requests in silence.
func TestWiring_Key(t *testing.T) {
	told := []httplimit.Check{httplimit.CheckKey}
	fails := func(*http.Request) (string, error) {
		return "", errors.New("no session\nlevel=INFO " + strings.Repeat("x", 1000))
	}
	half := func(*http.Request) (string, error) { return "alice", errors.New("no session") }
	halfway := 0
	late := func(r *http.Request) (string, error) {
		if halfway++; halfway < 50 {
			return "alice", nil
		}
		return "", httplimit.ErrNoKey
	}
	user := httplimit.ContextValue(userKey{}) // in front of the authentication
	gone := func(i int) *http.Request {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return direct(i).WithContext(ctx)
	}
	for name, c := range map[string]struct {
		key     httplimit.KeyFunc
		n       int
		request func(int) *http.Request
		want    []httplimit.Check
	}{
		"a field is not valid":  {httplimit.ClientIP{IPv4Bits: 33}.RemoteIP(), 1, direct, told},
		"no prefix":             {httplimit.ForwardedIP(netip.Prefix{}), 1, direct, told},
		"everybody is trusted":  {httplimit.ForwardedIP(by("0.0.0.0/0")...), 1, direct, told},
		"an error of one's own": {fails, 3, direct, told},
		"the client has gone":   {fails, 300, gone, nil},
		"nobody has a key":      {user, 100, direct, told},
		"not yet":               {user, 99, direct, nil},
		"some have a key":       {late, 1000, direct, nil},
		"a text and an error":   {half, 3, direct, told},
		"an empty key":          {func(*http.Request) (string, error) { return "", nil }, 100, direct, told},
	} {
		assert.Equal(t, c.want, traffic(httplimit.Middleware{Key: c.key}, c.n, c.request), name)
		assert.Empty(t, traffic(httplimit.Middleware{Key: c.key, Unchecked: told}, c.n, c.request), name)
	}

	message := ""
	httplimit.Middleware{
		Limiter: weir.Must(weir.New(roomy)), Key: fails, Warn: func(_ httplimit.Check, m string) { message = m },
	}.Wrap(ok).ServeHTTP(&recorder{header: http.Header{}}, request())
	assert.Contains(t, message, `"no session\nlevel=INFO x`, "one line, whatever a client has sent")
	assert.Less(t, len(message), 600)
}
