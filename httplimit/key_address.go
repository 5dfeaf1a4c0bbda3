package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
)

// ClientIP makes keys from the addresses of clients. The zero value uses all of an IPv4 address. It
// uses the first 64 bits of an IPv6 address, because a subscriber usually has a /64 at least, and
// can use any address in it. The zero value trusts no proxy.
//
// A key has one of the forms 192.0.2.1, 192.0.2.0/24, 2001:db8::1 and 2001:db8::/64. It does not
// depend on how an address is spelled. Zones are left out. These IPv6 addresses stand for an IPv4
// address, and have the key of that address:
//
//   - ::ffff:0:0/96: IPv4 mapped to IPv6
//   - 64:ff9b::/96, and the prefixes in NAT64, if the address has the form of RFC 6052: IPv4
//     clients behind a translator
//   - 2002::/16: 6to4 (RFC 3056), in which the holder of an IPv4 address has a /48
//
// The function [RemoteIP] uses the zero value. The functions [ForwardedIP], [ForwardedHeader] and
// [HeaderIP] use the zero value with the Proxies that you pass. If a field is not valid, every
// KeyFunc of the ClientIP returns an error for every request. The error names all such fields.
// Changes to a ClientIP have no effect on a KeyFunc that it has made before. A KeyFunc is safe for
// concurrent use.
type ClientIP struct {
	IPv4Bits int // from 8 to 32; 0 means 32
	IPv6Bits int // from 32 to 128; 0 means 64

	// Proxies are the prefixes of the trusted proxies: what these proxies write into a header field
	// is believed. Name only the addresses of your proxies, and no network that also contains
	// clients. Prefixes of 0 bits, such as 0.0.0.0/0, are not valid, because every client could
	// then choose its key.
	Proxies []netip.Prefix

	// Hops is the number of proxies that are trusted whatever their address. It is for proxies
	// whose addresses are not known. With 1, the other end of the connection is a trusted proxy.
	// With 2, the proxy in front of that one is trusted, too. Every request must come through all
	// of these proxies. A client that bypasses one of them can choose its own key.
	Hops int

	// Skip are the prefixes of clients that are not limited: for them, a KeyFunc returns [ErrSkip].
	Skip []netip.Prefix

	// NAT64 are the prefixes of your own translators, such as one in 64:ff9b:1::/48 (RFC 8215).
	// They come in addition to 64:ff9b::/96. An address with such a prefix contains the client's
	// IPv4 address. RFC 6052 allows prefixes of 32, 40, 48, 56, 64 and 96 bits.
	//
	// The IPv4 address is used only for keys. Proxies and Skip are compared with the IPv6 address.
	NAT64 []netip.Prefix
}

// Key returns the key of a client at addr. Use it in a KeyFunc of your own that finds the address.
// It returns ErrSkip if addr is in Skip. It fails if addr or a field of c is not valid.
func (c ClientIP) Key(addr netip.Addr) (string, error) {
	p, err := c.prepare()
	if err != nil {
		return "", err
	}
	if !addr.IsValid() {
		return "", errors.New("weir: ClientIP.Key of the zero Addr, must be an IP address")
	}
	return p.key(hop{addr: addr.Unmap().WithZone("")})
}

// RemoteIP is a KeyFunc whose key is made from the address at the other end of the connection: see
// [ClientIP]. Clients cannot forge this address, unless an outer handler sets RemoteAddr from a
// header field. Behind a proxy it is the address of the proxy, which many clients share: use
// [ForwardedIP], [ForwardedHeader] or [HeaderIP] instead.
//
// It fails if RemoteAddr of the request is not an IP address, as over a Unix socket.
func RemoteIP(r *http.Request) (string, error) { return anyClient.remote(r) }

// anyClient is a prepared ClientIP{}.
var anyClient, _ = ClientIP{}.prepare()

// RemoteIP returns a KeyFunc like the function [RemoteIP], with the options of c. Proxies and Hops
// must be valid, but have no effect on its keys.
func (c ClientIP) RemoteIP() KeyFunc {
	p, err := c.prepare()
	if err != nil {
		return failing(err)
	}
	return p.remote
}

func failing(err error) KeyFunc {
	return func(*http.Request) (string, error) { return "", err }
}

// clients is a prepared ClientIP.
type clients struct {
	bits4, bits6         int
	hops                 int
	proxies, skip, nat64 []netip.Prefix
}

// prepare fills in the defaults and copies the prefixes. Its error names every fault.
func (c ClientIP) prepare() (*clients, error) {
	p := &clients{bits4: c.IPv4Bits, bits6: c.IPv6Bits, hops: c.Hops}
	if p.bits4 == 0 {
		p.bits4 = 32
	}
	if p.bits6 == 0 {
		p.bits6 = 64
	}
	var errs []error
	if p.bits4 < 8 || p.bits4 > 32 {
		errs = append(errs, fmt.Errorf("weir: ClientIP.IPv4Bits is %d, must be from 8 to 32", p.bits4))
	}
	if p.bits6 < 32 || p.bits6 > 128 {
		errs = append(errs, fmt.Errorf("weir: ClientIP.IPv6Bits is %d, must be from 32 to 128", p.bits6))
	}
	if p.hops < 0 {
		errs = append(errs, fmt.Errorf("weir: ClientIP.Hops is %d, must be at least 0", p.hops))
	}
	prefixes := func(field string, given []netip.Prefix) []netip.Prefix {
		list := make([]netip.Prefix, len(given))
		for i, prefix := range given {
			list[i] = unmapped(prefix)
			if !prefix.IsValid() {
				errs = append(errs, fmt.Errorf("weir: ClientIP.%s[%d] is of %v and %d bits, must be an address and as many bits as it has at most, such as 10.0.0.0/8",
					field, i, prefix.Addr(), prefix.Bits()))
			}
		}
		return list
	}
	p.proxies, p.skip = prefixes("Proxies", c.Proxies), prefixes("Skip", c.Skip)
	for i, prefix := range p.proxies {
		if prefix.Bits() == 0 {
			errs = append(errs, fmt.Errorf("weir: ClientIP.Proxies[%d] is %v, must not contain all clients: each could choose its key. "+
				"If the addresses of the proxies are not known, use Hops", i, c.Proxies[i]))
		}
	}
	for i, prefix := range c.NAT64 {
		if !embeds(prefix) {
			errs = append(errs, fmt.Errorf("weir: ClientIP.NAT64[%d] is %v, must be an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits",
				i, prefix))
		}
	}
	p.nat64 = append([]netip.Prefix{wellKnown}, c.NAT64...)
	return p, errors.Join(errs...)
}

// unmapped returns p in the form that contains unmapped addresses, such as those of a hop.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

func contain(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

func (c *clients) remote(r *http.Request) (string, error) {
	if c.bits4 == 32 && len(c.skip) == 0 {
		if host, ok := ipv4Host(r.RemoteAddr); ok {
			return host, nil
		}
	}
	at, err := peer(r)
	if err != nil {
		return "", err
	}
	return c.key(at)
}

// peer returns the other end of the connection.
func peer(r *http.Request) (hop, error) {
	at, ok := parseHop(r.RemoteAddr)
	if !ok {
		return at, fmt.Errorf("weir: Request.RemoteAddr is %q, %w", r.RemoteAddr, errNoAddress)
	}
	return at, nil
}

var errNoAddress = errors.New("must be an IP address, with or without a port")

// key returns the key of the client at h. For a whole IPv4 address whose text is known it allocates
// nothing.
func (c *clients) key(h hop) (string, error) {
	if contain(c.skip, h.addr) {
		return "", ErrSkip
	}
	bits := c.bits4
	if h.addr.Is6() {
		if v4, ok := c.embedded(h.addr); ok {
			h = hop{addr: v4}
		} else {
			bits = c.bits6
		}
	}
	if bits < h.addr.BitLen() {
		var buf [len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128")]byte
		p, _ := h.addr.Prefix(bits) // bits are in range
		return string(p.AppendTo(buf[:0])), nil
	}
	if h.text != "" {
		return h.text, nil
	}
	return h.addr.String(), nil
}
