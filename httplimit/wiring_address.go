package httplimit

import (
	"iter"
	"math/bits"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/internal/edge"
)

// seenAddresses is what the checks know of the requests whose key is an address, or has one as a
// part. Other keys, such as those of users, say nothing of proxies.
type seenAddresses struct {
	requests  atomic.Int32
	forwarded atomic.Int32 // requests with a field of proxies, from private addresses
	atProxy   atomic.Int32 // those of them whose key has the address of the proxy
	atCDN     atomic.Int32 // the same, from public addresses
	fewHops   atomic.Int32 // requests with fewer addresses than Hops
	explained atomic.Bool  // whether a proxy is the reason that requests share a key

	mu      sync.Mutex         // guards what is known of the first requests
	private map[string]sharing // those with a private address as their key, by address
	unread  sharing            // those of them with a public address that Key has not read
}

// A sharing is a number of requests, and what is known of their clients.
type sharing struct {
	requests int
	clients  uint64 // a bit for each of them, by its hash
}

func (s *sharing) add(client uint64) {
	s.requests++
	s.clients |= client
}

// seen reports whether these are 100 requests, which seem to come from several clients.
func (s *sharing) seen() bool { return s.requests == 100 && bits.OnesCount64(s.clients) >= 8 }

// isShared notes a request with a private address, and reports whether several clients share the
// address, or private addresses that a proxy has.
func (s *seenAddresses) isShared(address string, client uint64, unread bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.private == nil {
		s.private = make(map[string]sharing)
	}
	one, known := s.private[address]
	if !known {
		address = strings.Clone(address) // fasthttp uses the memory of a request again
	}
	one.add(client)
	s.private[address] = one
	if unread {
		s.unread.add(client)
	}
	return one.seen() || unread && s.unread.seen()
}

// lookAtAddress looks at the address in the key of a request, if it has one.
func (w *wiring) lookAtAddress(r *http.Request, s *seenAddresses, key string, client uint64, forwarded bool) {
	address, addresses := addressIn(key)
	if address == "" {
		return
	}
	n := s.requests.Add(1)
	if peer, ok := parseHop(r.RemoteAddr); ok && forwarded && s.atFault(r, n, peer.addr, addresses) {
		s.explained.Store(true)
		w.tell(CheckForwarded, "the key is the address of a proxy, %s, which sends the client's in a header field: "+
			"use ForwardedIP, ForwardedHeader or HeaderIP with the addresses of your proxies", address)
	}
	if s.explained.Load() || n > nearlyFirst || !isPrivate(addresses.Addr()) {
		return
	}
	if s.isShared(address, client, forwarded && leavesUnread(r, addresses)) {
		s.explained.Store(true)
		w.tellProxyKey(100, address)
	}
}

func (w *wiring) tellProxyKey(requests int32, address string) {
	advice := "trust all proxies on the way, and read the field that they write"
	if strings.Contains(address, "/") { // those that share the key may be clients of one network
		advice += "; or, if clients have these addresses, set IPv4Bits or IPv6Bits of ClientIP, so that they do not share a key"
	}
	w.tell(CheckProxyKey, "%d requests seem to come from several clients, and have private addresses as their keys, such as %s: %s",
		requests, address, advice)
}

// only returns the private address that the first requests have as their key, if they have one.
func (s *seenAddresses) only() (address string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for address = range s.private {
	}
	return address, len(s.private) == 1
}

// nearlyFirst is the number of requests of which 100 show a fault. The others may be health checks.
const nearlyFirst = 110

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
		return n <= nearlyFirst && atProxy && forwardedFrom(r, isPublic) && s.atCDN.Add(1) == 100
	}
}

// forwardedFrom reports whether a field of proxies names an address of which is reports true.
func forwardedFrom(r *http.Request, is func(netip.Addr) bool) bool {
	for _, name := range forwardingFields {
		for addr := range addressesIn(r, name) {
			if is(addr) {
				return true
			}
		}
	}
	return false
}

// leavesUnread reports whether a field of proxies names a public address that Key should perhaps have
// read. Those to the right of the key are of proxies that Key trusts.
func leavesUnread(r *http.Request, key netip.Prefix) bool {
	for _, name := range forwardingFields {
		unread, read := false, false
		for addr := range addressesIn(r, name) {
			if !read && key.Contains(addr) {
				unread, read = false, true
			} else if isPublic(addr) {
				unread = true
			}
		}
		if unread {
			return true
		}
	}
	return false
}

// addressesIn returns the addresses that a field of proxies names, from the right.
func addressesIn(r *http.Request, name string) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for _, line := range slices.Backward(r.Header[name]) {
			for element, more := "", true; more; {
				element, line, more = cutLastElement(line)
				if name == "Forwarded" {
					element = forParameter(element)
				}
				if h, ok := parseHop(strings.Trim(element, " \t")); ok && !yield(h.addr) {
					return
				}
			}
		}
	}
}

// addressIn returns the part of a key that is an address, or a prefix of addresses: all of it, or one
// of the keys that [Join] and [Or] have made it of. It also returns the addresses that share the
// part. If there is no such part, it returns "" and the zero Prefix, which contains no address.
func addressIn(key string) (string, netip.Prefix) {
	key = unmarked(key)
	if p, ok := parsePrefix(key); ok {
		return key, p
	}
	parts, _ := edge.Split(key)
	for _, part := range parts {
		if address, p := addressIn(part); address != "" {
			return address, p
		}
	}
	return "", netip.Prefix{}
}

// parsePrefix parses an address or a prefix, as keys have them: without a zone, which could be of any
// length. Longer texts cost nothing: clients choose how deep they nest what looks like joined keys.
func parsePrefix(s string) (netip.Prefix, bool) {
	const longest = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128")
	if len(s) > longest || strings.IndexByte(s, '%') >= 0 {
		return netip.Prefix{}, false
	}
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
