package httplimit

import "net/netip"

// wellKnown is the prefix of RFC 6052 that all translators may use.
var wellKnown = netip.MustParsePrefix("64:ff9b::/96")

// embeds reports whether the addresses of p can contain an IPv4 address in the form of RFC 6052.
func embeds(p netip.Prefix) bool {
	switch p.Bits() {
	case 32, 40, 48, 56, 64, 96:
		return p.Addr().Is6() && !p.Addr().Is4In6()
	}
	return false
}

// embedded returns the IPv4 address that an IPv6 address contains. It is for keys only, and not for
// Proxies or Skip: an address that only contains a trusted one must not be trusted.
func (c *clients) embedded(addr netip.Addr) (netip.Addr, bool) {
	b := addr.As16()
	if b[0] == 0x20 && b[1] == 0x02 { // 6to4: the /48 of the IPv4 address that follows
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	for _, p := range c.nat64 {
		if !p.Contains(addr) {
			continue
		}
		if p.Bits() < 96 && b[8] != 0 { // RFC 6052 reserves these bits
			return netip.Addr{}, false
		}
		var v4 [4]byte
		at := p.Bits() / 8
		for i := range v4 {
			if at == 8 {
				at++
			}
			v4[i] = b[at]
			at++
		}
		return netip.AddrFrom4(v4), true
	}
	return netip.Addr{}, false
}
