package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// ForwardedIP returns a KeyFunc for a service behind proxies that append to the X-Forwarded-For
// field. Its key is the address of the client, as the outermost of the trusted proxies saw it.
//
// The KeyFunc starts with the address at the other end of the connection. If that is a trusted
// proxy, it continues with the address that the proxy appended to the field, and so on. It reads
// the field from the right, across all its lines. The first address that is not trusted is the
// client. The KeyFunc ignores everything to the left of that address, because the client could have
// written it.
//
// If the field ends, or contains something other than an address, the key is the last trusted
// proxy. A request that bypasses the proxies is limited by its own address. Every request is
// limited.
//
// Trust the addresses of your proxies only, and not a whole network that also has clients in it.
// Every trusted proxy must append to the field. If a proxy passes on the field as clients wrote it,
// clients can choose their key.
//
// The KeyFunc fails if RemoteAddr of the request is not an IP address, as over a Unix socket. It
// fails at every request if one of the prefixes is not valid. The contents of the field never make
// it fail.
func ForwardedIP(trusted ...netip.Prefix) KeyFunc { return Subnet{}.ForwardedIP(trusted...) }

// ForwardedIP is like the function [ForwardedIP], with the bits of s. The KeyFunc also fails if a
// number of bits in s is out of range.
func (s Subnet) ForwardedIP(trusted ...netip.Prefix) KeyFunc {
	return newWalk(s, trusted, "X-Forwarded-For", func(line string) (string, string, bool) {
		comma := strings.LastIndexByte(line, ',')
		return strings.Trim(line[comma+1:], " \t"), line[:max(comma, 0)], comma >= 0
	})
}

// ForwardedHeader is like [ForwardedIP] for proxies that append to the Forwarded field of RFC 7239.
// The names that the field has for hidden and unknown clients are not addresses. The KeyFunc fails
// in the same cases as that of ForwardedIP.
func ForwardedHeader(trusted ...netip.Prefix) KeyFunc { return Subnet{}.ForwardedHeader(trusted...) }

// ForwardedHeader is like the function [ForwardedHeader], with the bits of s. The KeyFunc also
// fails if a number of bits in s is out of range.
func (s Subnet) ForwardedHeader(trusted ...netip.Prefix) KeyFunc {
	return newWalk(s, trusted, "Forwarded", func(line string) (string, string, bool) {
		element, rest, more := cutLastElement(line)
		return forParameter(element), rest, more
	})
}

// cutHop cuts the last element off a line and returns its address, or "" if the element contains
// something else. It reports whether rest contains more elements.
type cutHop func(line string) (node, rest string, more bool)

// newWalk returns the KeyFunc that starts at the connection and reads the lines of a field from the
// right.
func newWalk(s Subnet, trusted []netip.Prefix, field string, cut cutHop) KeyFunc {
	s, err := s.checked()
	proxies := make([]netip.Prefix, len(trusted))
	for i, p := range trusted {
		proxies[i] = unmapped(p)
		if !p.IsValid() {
			err = errors.Join(err, fmt.Errorf("weir: trusted prefix %d is of %v and %d bits, must be an address and as many bits as it has at most, such as 10.0.0.0/8",
				i, p.Addr(), p.Bits()))
		}
	}
	if err != nil {
		return func(*http.Request) (string, error) { return "", err }
	}
	trusts := func(h hop) bool {
		for _, p := range proxies {
			if p.Contains(h.addr) {
				return true
			}
		}
		return false
	}
	return func(r *http.Request) (string, error) {
		at, ok := parseHop(r.RemoteAddr)
		if !ok {
			return "", remoteAddrError(r)
		}
		lines := r.Header[field]
		for i := len(lines) - 1; i >= 0; i-- {
			for rest, more := lines[i], true; more; {
				if !trusts(at) {
					return s.key(at), nil
				}
				var node string
				node, rest, more = cut(rest)
				next, ok := parseHop(node)
				if !ok {
					return s.key(at), nil
				}
				at = next
			}
		}
		return s.key(at), nil
	}
}

// unmapped returns p in the form that contains unmapped addresses, such as those of a hop.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// cutLastElement cuts the last element off a Forwarded field. It reads from the right, so a quote
// left open further left cannot hide the elements that a proxy appended. If a quote is still open
// at the end, the element is all of s, and is not valid.
func cutLastElement(s string) (element, rest string, more bool) {
	quoted := false
	for i := len(s) - 1; i >= 0; i-- {
		switch {
		case s[i] == '"' && !escaped(s, i):
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return s[i+1:], s[:i], true
		}
	}
	return s, "", false
}

// escaped reports whether the character at i follows an odd number of backslashes.
func escaped(s string, i int) bool {
	n := 0
	for i > n && s[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// forParameter returns the value of the for parameter of a Forwarded element. It returns "" if the
// element has none, or more than one, or is not valid.
func forParameter(element string) string {
	found := ""
	for {
		element = strings.Trim(element, " \t;") // a pair may be empty
		if element == "" {
			return found
		}
		name, value, ok := strings.Cut(element, "=")
		if !ok {
			return ""
		}
		if strings.HasPrefix(value, `"`) {
			end := closingQuote(value)
			if end < 0 {
				return ""
			}
			value, element = value[1:end], strings.TrimLeft(value[end+1:], " \t")
			if element != "" && element[0] != ';' {
				return ""
			}
		} else {
			value, element, _ = strings.Cut(value, ";")
			value = strings.TrimRight(value, " \t")
		}
		if strings.EqualFold(strings.TrimLeft(name, " \t"), "for") {
			if found != "" || value == "" {
				return ""
			}
			found = value
		}
	}
}

// closingQuote returns the index of the quote that closes the string at the start of s, or -1.
func closingQuote(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] == '"' && !escaped(s, i) {
			return i
		}
	}
	return -1
}
