package httplimit

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Subnet determines how many bits of an address make a key. The zero value uses all of an IPv4
// address, and the first 64 bits of an IPv6 address. A subscriber gets a /64 at least, and can
// change its address within it at will.
//
// A key has one of the forms 192.0.2.1, 192.0.2.0/24, 2001:db8::1 and 2001:db8::/64. All spellings
// of an address give the same key. An IPv4 address mapped to IPv6 is the IPv4 address. Zones are
// left out.
//
// The functions [RemoteIP], [ForwardedIP] and [ForwardedHeader] are the methods of the zero value.
// With a number of bits out of range, the KeyFunc returns an error for every request.
type Subnet struct {
	IPv4Bits int // from 8 to 32; 0 means 32
	IPv6Bits int // from 32 to 128; 0 means 64
}

// RemoteIP is a KeyFunc whose key is the address at the other end of the connection. Clients cannot
// forge it. Behind a proxy or load balancer it is the address of the proxy, the same for all
// clients. Use [ForwardedIP] or [ForwardedHeader] there.
//
// It fails if RemoteAddr of the request is not an IP address, as over a Unix socket.
func RemoteIP(r *http.Request) (string, error) { return Subnet{}.RemoteIP(r) }

// RemoteIP is like the function [RemoteIP], with the bits of s. It also fails if a number of bits
// in s is out of range.
func (s Subnet) RemoteIP(r *http.Request) (string, error) {
	s, err := s.checked()
	if err != nil {
		return "", err
	}
	if host, ok := ipv4Host(r.RemoteAddr); ok && s.IPv4Bits == 32 {
		return host, nil
	}
	hop, ok := parseHop(r.RemoteAddr)
	if !ok {
		return "", remoteAddrError(r)
	}
	return s.key(hop), nil
}

func remoteAddrError(r *http.Request) error {
	return fmt.Errorf("weir: Request.RemoteAddr is %q, must be an IP address, with or without a port", r.RemoteAddr)
}

// checked returns s with the defaults filled in.
func (s Subnet) checked() (Subnet, error) {
	if s.IPv4Bits == 0 {
		s.IPv4Bits = 32
	}
	if s.IPv6Bits == 0 {
		s.IPv6Bits = 64
	}
	if s.IPv4Bits < 8 || s.IPv4Bits > 32 {
		return s, fmt.Errorf("weir: Subnet.IPv4Bits is %d, must be from 8 to 32", s.IPv4Bits)
	}
	if s.IPv6Bits < 32 || s.IPv6Bits > 128 {
		return s, fmt.Errorf("weir: Subnet.IPv6Bits is %d, must be from 32 to 128", s.IPv6Bits)
	}
	return s, nil
}

// key requires that s has been checked. For a whole IPv4 address it allocates nothing.
func (s Subnet) key(h hop) string {
	bits := s.IPv6Bits
	if h.addr.Is4() {
		bits = s.IPv4Bits
	}
	if bits < h.addr.BitLen() {
		var buf [len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128")]byte
		p, _ := h.addr.Prefix(bits) // bits are in range
		return string(p.AppendTo(buf[:0]))
	}
	if h.text != "" {
		return h.text
	}
	return h.addr.String()
}

// A hop is a client or proxy that a request came through.
type hop struct {
	addr netip.Addr // without a zone; IPv4 if it was IPv4 mapped to IPv6
	text string     // the text of addr if the input was in the form of its String method, else ""
}

// parseHop parses an address in a form of RemoteAddr or of the fields of proxies: 192.0.2.1,
// 192.0.2.1:80, 2001:db8::1, [2001:db8::1] or [2001:db8::1]:80. It reports false for anything else.
func parseHop(s string) (hop, bool) {
	host, port, bracketed := s, "", strings.HasPrefix(s, "[")
	if bracketed {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return hop{}, false
		}
		host, port = s[1:end], s[end+1:]
	} else if colon := strings.IndexByte(s, ':'); colon >= 0 && colon == strings.LastIndexByte(s, ':') {
		host, port = s[:colon], s[colon:]
	}
	// netip must not parse the zone: it keeps a table of all zones that it has seen.
	host, zone, zoned := strings.Cut(host, "%")
	addr, err := netip.ParseAddr(host)
	if err != nil || !validPort(port) || (bracketed || zoned) && addr.Is4() || zoned && zone == "" {
		return hop{}, false
	}
	if addr.Is4() { // netip reads and writes IPv4 in one form only
		return hop{addr, host}, true
	}
	return hop{addr: addr.Unmap()}, true
}

// ipv4Host returns the 192.0.2.1 of 192.0.2.1:80, which is by far the most common form of
// RemoteAddr. Its result is that of parseHop, in a quarter of the time. It reports false for any
// other form.
func ipv4Host(s string) (string, bool) {
	dots, value, digits := 0, 0, 0
	for i := range len(s) {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			if digits > 0 && value == 0 || value > 25 {
				return "", false // a leading zero, or a number of four digits
			}
			value = 10*value + int(c-'0')
			digits++
		case digits == 0 || value > 255:
			return "", false
		case c == '.' && dots < 3:
			dots++
			value, digits = 0, 0
		case c == ':' && dots == 3:
			return s[:i], validPort(s[i:])
		default:
			return "", false
		}
	}
	return "", false
}

// validPort reports whether s is empty, or a colon and a port. A port is digits, or a name in the
// form that the Forwarded field allows.
func validPort(s string) bool {
	if s == "" {
		return true
	}
	if s[0] != ':' || len(s) == 1 {
		return false
	}
	obfuscated := s[1] == '_'
	for i := 1; i < len(s); i++ {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '-' || c == '.'
		if (c < '0' || c > '9') && !(obfuscated && letter) {
			return false
		}
	}
	return true
}
