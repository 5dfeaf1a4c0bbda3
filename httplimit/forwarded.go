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
// It starts with the address at the other end of the connection. As long as that is a trusted
// proxy, what the proxy appended to the field is the address next to look at: the field is read
// from the right, across all its lines. The first address that is not trusted is the client. What
// stands to the left of it was written by the client, or by somebody it got the request from, and
// is never looked at. If the field ends, or has something else than an address, the key is the last
// trusted proxy. So is a request that comes past the proxies limited by its own address, and none
// gets past the limit.
//
// Trust the addresses of your proxies, not a whole network that clients are in, too. Every trusted
// proxy must append to the field: one that passes on what clients wrote lets them choose their key.
//
// The KeyFunc fails if RemoteAddr of the request is no IP address, as over a Unix socket; and at every request if
// one of the prefixes is not valid. Whatever is in the field is no error.
func ForwardedIP(trusted ...netip.Prefix) KeyFunc { return Subnet{}.ForwardedIP(trusted...) }

// ForwardedIP is like [ForwardedIP], with the key made as s says. The KeyFunc fails, too, if s has a number of bits
// that is not allowed.
func (s Subnet) ForwardedIP(trusted ...netip.Prefix) KeyFunc {
	return newWalk(s, trusted, "X-Forwarded-For", func(line string) (string, string, bool) {
		comma := strings.LastIndexByte(line, ',')
		return strings.Trim(line[comma+1:], " \t"), line[:max(comma, 0)], comma >= 0
	})
}

// ForwardedHeader is like [ForwardedIP] for proxies that append to the Forwarded field of RFC 7239.
// The names that it has for hidden and unknown clients are no addresses. The KeyFunc fails when that of ForwardedIP
// does.
func ForwardedHeader(trusted ...netip.Prefix) KeyFunc { return Subnet{}.ForwardedHeader(trusted...) }

// ForwardedHeader is like [ForwardedHeader], with the key made as s says. The KeyFunc fails, too, if s has a number
// of bits that is not allowed.
func (s Subnet) ForwardedHeader(trusted ...netip.Prefix) KeyFunc {
	return newWalk(s, trusted, "Forwarded", func(line string) (string, string, bool) {
		element, rest, more := cutLastElement(line)
		return forParameter(element), rest, more
	})
}

// cutHop cuts the last address off a line: "" if there is something else in its place. It reports
// whether there is more in rest.
type cutHop func(line string) (node, rest string, more bool)

// newWalk returns the KeyFunc that walks from the connection through the lines of a field, from the
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

// unmapped is p for addresses that are unmapped, as those of a hop.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// cutLastElement cuts the last element off a Forwarded field. It reads from the right, so that a
// quote left open further left cannot swallow what a proxy appended. If a quote is open in the end,
// the element is all of s, and is not valid.
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

// escaped tells whether the character at i follows an odd number of backslashes.
func escaped(s string, i int) bool {
	n := 0
	for i > n && s[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// forParameter is the value of the for parameter of a Forwarded element: "" if it has none, or more
// than one, or is not valid.
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

// closingQuote is where the quoted string that s starts with ends.
func closingQuote(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] == '"' && !escaped(s, i) {
			return i
		}
	}
	return -1
}
