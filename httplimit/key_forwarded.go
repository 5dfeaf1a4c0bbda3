package httplimit

import (
	"net/http"
	"net/netip"
	"strings"
)

// ForwardedIP returns a KeyFunc for a service behind proxies that append to the X-Forwarded-For
// field. Its key is made from the address of the client, as the outermost of the trusted proxies
// saw it: see [ClientIP].
//
// The KeyFunc starts with the address at the other end of the connection. If that is a trusted
// proxy, it continues with the address that the proxy appended to the field, and so on. It reads
// the field from the right, across all its lines. The first address that is not trusted is the
// client. The KeyFunc ignores everything to the left of that address, because the client could have
// written it.
//
// If a trusted proxy appended nothing, or something other than an address, the key is made from the
// address of that proxy. A request that bypasses the proxies is limited by its own address.
//
// Every trusted proxy must append to the field. Only the proxy to which clients connect may replace
// it. If a proxy passes on the field as clients wrote it, clients can choose their key.
//
// The KeyFunc fails if RemoteAddr of the request is not an IP address, as over a Unix socket, or if
// a prefix in proxies is not valid. The contents of the field never make it fail.
func ForwardedIP(proxies ...netip.Prefix) KeyFunc {
	return ClientIP{Proxies: proxies}.ForwardedIP()
}

// ForwardedIP returns a KeyFunc like the function [ForwardedIP], with the options of c.
func (c ClientIP) ForwardedIP() KeyFunc {
	return c.walk("X-Forwarded-For", func(line string) (string, string, bool) {
		comma := strings.LastIndexByte(line, ',')
		return strings.Trim(line[comma+1:], " \t"), line[:max(comma, 0)], comma >= 0
	})
}

// ForwardedHeader is like [ForwardedIP] for proxies that append to the Forwarded field of RFC 7239.
// The field can have a name in place of an address, for a client that is hidden or unknown. The key
// is then made from the address of the proxy that appended the name. The KeyFunc fails in the same
// cases as that of ForwardedIP.
func ForwardedHeader(proxies ...netip.Prefix) KeyFunc {
	return ClientIP{Proxies: proxies}.ForwardedHeader()
}

// ForwardedHeader returns a KeyFunc like the function [ForwardedHeader], with the options of c.
func (c ClientIP) ForwardedHeader() KeyFunc {
	return c.walk("Forwarded", func(line string) (string, string, bool) {
		element, rest, more := cutLastElement(line)
		return forParameter(element), rest, more
	})
}

// HeaderIP returns a KeyFunc for a service behind proxies that write only the client's address into
// a field, such as CF-Connecting-IP, True-Client-IP or X-Real-IP. The key is made from the address
// in the field if the other end of the connection is a trusted proxy, and the field comes once and
// is an address: see [ClientIP].
//
// In all other cases the key is made from the address of the other end.
//
// The proxies must replace the field that a client sends. With several proxies in a row, no request
// may bypass the proxy that writes the field.
//
// The KeyFunc fails in the same cases as that of [ForwardedIP].
func HeaderIP(name string, proxies ...netip.Prefix) KeyFunc {
	return ClientIP{Proxies: proxies}.HeaderIP(name)
}

// HeaderIP returns a KeyFunc like the function [HeaderIP], with the options of c.
func (c ClientIP) HeaderIP(name string) KeyFunc {
	p, err := c.prepare()
	if err != nil {
		return failing(err)
	}
	name = http.CanonicalHeaderKey(name)
	return func(r *http.Request) (string, error) {
		at, err := peer(r)
		if err != nil {
			return "", err
		}
		if values := r.Header[name]; len(values) == 1 && p.trusts(at, 0) {
			if client, ok := parseHop(strings.Trim(values[0], " \t")); ok {
				at = client
			}
		}
		return p.key(at)
	}
}

// trusts reports whether the proxy at h is trusted. i is the number of proxies that the request
// came through after it.
func (c *clients) trusts(h hop, i int) bool {
	return i < c.hops || contain(c.proxies, h.addr)
}

// cutHop cuts the last element off a line and returns its address, or "" if the element contains
// something else. It reports whether rest contains more elements.
type cutHop func(line string) (node, rest string, more bool)

// walk returns the KeyFunc that starts at the connection and reads the lines of a field from the
// right.
func (c ClientIP) walk(field string, cut cutHop) KeyFunc {
	p, err := c.prepare()
	if err != nil {
		return failing(err)
	}
	return func(r *http.Request) (string, error) {
		at, err := peer(r)
		if err != nil {
			return "", err
		}
		hops, lines := 0, r.Header[field]
		for i := len(lines) - 1; i >= 0; i-- {
			for rest, more := lines[i], true; more; hops++ {
				if !p.trusts(at, hops) {
					return p.key(at)
				}
				var node string
				node, rest, more = cut(rest)
				next, ok := parseHop(node)
				if !ok {
					return p.key(at)
				}
				at = next
			}
		}
		if 0 < hops && hops < p.hops {
			lookAtHops(r, field, p.hops)
		}
		return p.key(at)
	}
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
			value, element = unescape(value[1:end]), strings.TrimLeft(value[end+1:], " \t")
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

// unescape replaces the quoted pairs in a quoted string: \x stands for x.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
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
