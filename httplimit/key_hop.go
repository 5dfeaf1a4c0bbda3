package httplimit

import (
	"net/netip"
	"strings"
)

// A hop is a client or proxy that a request came through.
type hop struct {
	addr netip.Addr // without a zone; IPv4 if it was IPv4 mapped to IPv6
	text string     // the text of addr if the input was in the form of its String method, else ""
}

// parseHop parses an address in a form of RemoteAddr or of the fields of proxies: 192.0.2.1,
// 192.0.2.1:80, 2001:db8::1, [2001:db8::1] or [2001:db8::1]:80. An IPv6 address may have a zone,
// which is left out. It reports false for anything else.
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
// other form, and may do so for a port of one digit.
func ipv4Host(s string) (string, bool) {
	rest := s
	for dots := 0; ; dots++ {
		if len(rest) < 4 {
			return "", false
		}
		digits := 3
		switch a, b, c := rest[0]-'0', rest[1]-'0', rest[2]-'0'; {
		case a > 9:
			return "", false
		case b > 9:
			digits = 1
		case a == 0: // a leading zero
			return "", false
		case c > 9:
			digits = 2
		case 100*int(a)+10*int(b)+int(c) > 255:
			return "", false
		}
		rest = rest[digits:]
		if dots == 3 {
			return s[:len(s)-len(rest)], validPort(rest)
		}
		if rest[0] != '.' {
			return "", false
		}
		rest = rest[1:]
	}
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
	port := s[1:]
	for i := range len(port) {
		c := port[i]
		if c-'0' <= 9 {
			continue
		}
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '-' || c == '.'
		if port[0] != '_' || !letter {
			return false
		}
	}
	return true
}
