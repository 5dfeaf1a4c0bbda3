package httplimit

import (
	"errors"
	"hash/maphash"
	"math/bits"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/internal/edge"
)

// seenKeys is what the checks know of the keys of a limit.
type seenKeys struct {
	requests  atomic.Int32  // requests with a key
	without   atomic.Int32  // requests without one
	same      uniform       // whether all requests have one key
	clients   atomic.Uint64 // a bit for each of the clients, by their hash
	addresses seenAddresses
}

// seenAddresses is what the checks know of the requests whose key is an address, or has one as a
// part. Other keys, such as those of users, say nothing of proxies.
type seenAddresses struct {
	requests  atomic.Int32
	forwarded atomic.Int32  // requests with a field of proxies, from private addresses
	atProxy   atomic.Int32  // those of them whose key has the address of the proxy
	atCDN     atomic.Int32  // the same, from public addresses
	unread    atomic.Int32  // requests with a private address as their key, and a public one in a field of proxies
	explained atomic.Bool   // whether a proxy is the reason that requests share a key
	same      uniform       // whether all requests have one address
	clients   atomic.Uint64 // a bit for each of the clients, by their hash
}

// A uniform tells whether all texts that it has seen are the same.
type uniform struct {
	first  atomic.Pointer[string]
	differ atomic.Bool
}

// see notes a text, and reports whether all were the same so far.
func (u *uniform) see(text string) bool {
	if first := u.first.Load(); first == nil {
		kept := strings.Clone(text) // fasthttp uses the memory of a request again
		u.first.CompareAndSwap(nil, &kept)
	} else if *first != text {
		u.differ.Store(true)
	}
	return !u.differ.Load()
}

// forwardingFields are the fields in which proxies name their client.
var forwardingFields = [...]string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip"}

// clientSeed is the seed of the hashes of clients.
var clientSeed = maphash.MakeSeed()

// lookAtKey looks at the key of a request.
func (w *wiring) lookAtKey(r *http.Request, a *asked) {
	s, key := &a.keys, a.d.Key
	n := s.requests.Add(1)
	client, forwarded := clientOf(r)
	if address, addresses := addressIn(key); address != "" {
		w.lookAtAddress(r, &s.addresses, client, forwarded, address, addresses)
	}
	s.clients.Or(client)
	oneKey := s.same.see(key)
	if s.addresses.explained.Load() || n != sameKeys || !oneKey || a.Key == nil || isShared(r, key) {
		return
	}
	if bits.OnesCount64(s.clients.Load()) >= 16 {
		w.tell(CheckOneKey, "the first %d requests seem to come from many clients, and all have one key: "+
			"use Everyone as the Key of a limit that all clients share", n)
	}
}

// clientOf returns a bit for the client of a request. It reports whether the request has a field of
// proxies.
func clientOf(r *http.Request) (bit uint64, forwarded bool) {
	var client maphash.Hash
	client.SetSeed(clientSeed)
	for _, name := range forwardingFields {
		for _, value := range r.Header[name] {
			forwarded = true
			_, _ = client.WriteString(value)
		}
		_ = client.WriteByte(0)
	}
	_, _ = client.WriteString(r.Header.Get("User-Agent"))
	if peer, ok := parseHop(r.RemoteAddr); ok {
		_, _ = client.WriteString(peer.addr.String())
	}
	return 1 << (client.Sum64() % 64), forwarded
}

// lookAtAddress looks at the address in the key of a request. addresses are those that share it.
func (w *wiring) lookAtAddress(
	r *http.Request, s *seenAddresses, client uint64, forwarded bool, address string, addresses netip.Prefix,
) {
	n := s.requests.Add(1)
	if peer, ok := parseHop(r.RemoteAddr); ok && forwarded && s.atFault(r, n, peer.addr, addresses) {
		s.explained.Store(true)
		w.tell(CheckForwarded, "the key is the address of a proxy, %s, which sends the client's in a header field: "+
			"use ForwardedIP, ForwardedHeader or HeaderIP with the addresses of your proxies", address)
	}
	s.clients.Or(client)
	oneAddress, private := s.same.see(address), isPrivate(addresses.Addr())
	if s.explained.Load() {
		return
	}
	unread := private && forwarded && n <= 110 && forwardedFrom(r, isPublic) && s.unread.Add(1) == 100
	if (unread || n == 100 && private && oneAddress) && bits.OnesCount64(s.clients.Load()) >= 8 {
		s.explained.Store(true)
		w.tell(CheckProxyKey, "100 requests seem to come from several clients, and have private addresses as their keys, such as %s: "+
			"trust all proxies on the way, and read the field that they write", address)
	}
}

// sameKeys is the number of requests that must have one key: of those that the checks look at, a few
// may have none.
const sameKeys = looksAt * 9 / 10

// atFault reports whether the requests with a field of proxies, of which r is one, have shown that
// their key is the address of a proxy. n is the number of requests with an address in their key.
//
// A server that clients reach without a proxy must not be warned because some of them send such
// fields. Ten requests from private addresses are enough. From public addresses, as those of a CDN,
// nearly all of the first requests must have the field, and it must name a public address.
func (s *seenAddresses) atFault(r *http.Request, n int32, peer netip.Addr, key netip.Prefix) bool {
	atProxy := key.Contains(peer)
	switch {
	case atProxy && forwardedFrom(r, key.Contains):
		// A client whose own key is that of its proxy, such as a client on the same host, proves no
		// fault.
		return false
	case isPrivate(peer):
		return s.forwarded.Add(1) <= 10 && atProxy && s.atProxy.Add(1) == 10
	default:
		return n <= 110 && atProxy && forwardedFrom(r, isPublic) && s.atCDN.Add(1) == 100
	}
}

// finding are the requests whose keys are being found, and that the checks look at. A KeyFunc sees
// what a Middleware cannot see. It gets the request alone, which must stay as it is.
var finding sync.Map // from *http.Request to *wiring

// lookAtHops looks at a request whose field of proxies has fewer addresses than the proxies that it
// must come through.
func lookAtHops(r *http.Request, field string, hops int) {
	if w, ok := finding.Load(r); ok && w.(*wiring).fewHops.Add(1) == 10 {
		w.(*wiring).tell(CheckHops, "ten requests have fewer addresses in %s than Hops, which is %d: Hops is too large, "+
			"or they have bypassed a proxy, and clients can choose their key", field, hops)
	}
}

// lookAtNoKey looks at the error of a request that has no key. Clients may have chosen its bytes.
func (w *wiring) lookAtNoKey(s *seenKeys, err error) {
	switch {
	case !errors.Is(err, ErrNoKey):
		w.tell(CheckKey, "Key fails, and requests are refused: %.500q", err.Error())
	case s.without.Add(1) == 100 && s.requests.Load() == 0:
		w.tell(CheckKey, "none of the first 100 requests has a key, and all are refused: %.500q: "+
			"put the limit behind the handler that sets the key", err.Error())
	}
}

// forwardedFrom reports whether a field of proxies names an address of which is reports true.
func forwardedFrom(r *http.Request, is func(netip.Addr) bool) bool {
	for _, name := range forwardingFields {
		for _, line := range r.Header[name] {
			for element, more := "", true; more; {
				element, line, more = cutLastElement(line)
				if name == "Forwarded" {
					element = forParameter(element)
				}
				if h, ok := parseHop(strings.Trim(element, " \t")); ok && is(h.addr) {
					return true
				}
			}
		}
	}
	return false
}

// isShared reports whether all clients are meant to have the key. Such a key is that of Everyone,
// or it says what is requested and not who requests it, such as the route. It is not for the keys
// of a Checker, which a handler has chosen.
func isShared(r *http.Request, key string) bool {
	key = unmarked(key)
	if parts, ok := edge.Split(key); ok {
		return !slices.ContainsFunc(parts, func(part string) bool { return !isShared(r, part) })
	}
	for _, find := range [...]KeyFunc{Everyone, Pattern, Method, Path} {
		if shared, err := find(r); err == nil && key == shared {
			return true
		}
	}
	return key == r.Method+" "+r.Pattern // Route of ginlimit, also of a request without a route
}

// unmarked returns a key without the mark of [Or].
func unmarked(key string) string {
	if rest, ok := strings.CutPrefix(key, "\x00"); ok {
		_, key, _ = strings.Cut(rest, ":")
	}
	return key
}

// addressIn returns the part of a key that is an address, or a prefix of addresses: all of it, or one
// of the keys that [Join] has combined. It also returns the addresses that share the part. If there
// is no such part, it returns "" and the zero Prefix, which contains no address.
func addressIn(key string) (string, netip.Prefix) {
	key = unmarked(key)
	if p, ok := parsePrefix(key); ok {
		return key, p
	}
	parts, _ := edge.Split(key)
	for _, part := range parts {
		part = unmarked(part)
		if p, ok := parsePrefix(part); ok {
			return part, p
		}
	}
	return "", netip.Prefix{}
}

// parsePrefix parses an address or a prefix.
func parsePrefix(s string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	return p, err == nil
}

// shared are the addresses of RFC 6598, which some providers give their load balancers.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// isPrivate reports whether an address is one that clients on the Internet do not have.
func isPrivate(addr netip.Addr) bool {
	return addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || shared.Contains(addr)
}

func isPublic(addr netip.Addr) bool { return !isPrivate(addr) }
