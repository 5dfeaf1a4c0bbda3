package replay

import "net/netip"

// clients gives numbers to keys, in the order in which they come.
type clients struct {
	numbers map[string]uint32
	keys    []string
	counts  []int // of requests
}

func (c *clients) number(key []byte) uint32 {
	n, ok := c.numbers[string(key)]
	if !ok {
		n = uint32(len(c.keys))
		own := string(key)
		c.numbers[own] = n
		c.keys = append(c.keys, own)
		c.counts = append(c.counts, 0)
	}
	return n
}

// Prefixes of IPv6 whose addresses contain that of an IPv4 client.
var (
	translated = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixToFour  = netip.MustParsePrefix("2002::/16")    // RFC 3056
)

// address returns the key of an address, as the zero httplimit.ClientIP makes it: an IPv6 client is
// known by the first 64 bits. If the text is no address, it is the key.
func address(field []byte) []byte {
	addr, err := netip.ParseAddr(string(field))
	if err != nil || addr.Is4() {
		return field
	}
	addr = addr.Unmap().WithZone("")
	switch all := addr.As16(); {
	case translated.Contains(addr):
		addr = netip.AddrFrom4([4]byte(all[12:]))
	case sixToFour.Contains(addr):
		addr = netip.AddrFrom4([4]byte(all[2:6]))
	}
	if addr.Is4() {
		return addr.AppendTo(nil)
	}
	return netip.PrefixFrom(addr, 64).Masked().AppendTo(nil)
}

// network returns the network of a key that is an address: 24 bits of IPv4, and 48 of IPv6.
func network(key string) (netip.Prefix, bool) {
	addr, err := netip.ParseAddr(key)
	if err != nil {
		p, err := netip.ParsePrefix(key)
		if err != nil {
			return netip.Prefix{}, false
		}
		addr = p.Addr()
	}
	bits := 48
	if addr.Is4() {
		bits = 24
	}
	p, err := addr.Prefix(bits)
	return p, err == nil
}
