package accesslog

import (
	"bytes"
	"errors"
)

var errQuote = errors.New(`a quote " is not closed`)

// word cuts the first word off a line: one that ends at a space, or is between quotes. Within
// quotes a backslash is before a quote that does not end the word. The word is as it stands there,
// without the quotes. After the last word, rest is nil.
func word(line []byte) (w, rest []byte, err error) {
	if len(line) == 0 || line[0] != '"' {
		i := bytes.IndexByte(line, ' ')
		if i < 0 {
			return line, nil, nil
		}
		return line[:i], line[i+1:], nil
	}
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			w, rest = line[1:i], line[i+1:]
			switch {
			case len(rest) == 0:
				return w, nil, nil
			case rest[0] != ' ':
				return nil, nil, errors.New(`a space must follow a quoted word`)
			}
			return w, rest[1:], nil
		}
	}
	return nil, nil, errQuote
}

// orNil is the value of a field. In logs, "-" stands for one that is not there.
func orNil(b []byte) []byte {
	if len(b) == 0 || len(b) == 1 && b[0] == '-' {
		return nil
	}
	return b
}

// request returns the method and the uri in the first line of a request. Scanners send text that is
// no such line: all of it is then the uri. Text of nothing but dashes and spaces, such as "- - - ",
// means that there was no line.
func request(line []byte) (method, uri []byte) {
	if len(bytes.Trim(line, "- ")) == 0 {
		return nil, nil
	}
	first, last := bytes.IndexByte(line, ' '), bytes.LastIndexByte(line, ' ')
	if first < 0 || first == last {
		return nil, line
	}
	return line[:first], line[first+1 : last]
}

// path is the uri without scheme, host and query. A path may have a URL in it, as those of proxies
// for images have: /600x/https://example.com/a.png.
func path(uri []byte) []byte {
	if i := bytes.IndexByte(uri, '?'); i >= 0 {
		uri = uri[:i]
	}
	scheme, rest, absolute := bytes.Cut(uri, []byte("://"))
	if !absolute || bytes.IndexByte(scheme, '/') >= 0 {
		return uri
	}
	if i := bytes.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return []byte("/")
}

// withoutPort cuts the port off an address: 192.0.2.1:80, or [2001:db8::1]:80.
func withoutPort(addr []byte) []byte {
	if len(addr) > 0 && addr[0] == '[' {
		if i := bytes.IndexByte(addr, ']'); i > 0 {
			return addr[1:i]
		}
		return addr
	}
	if i := bytes.IndexByte(addr, ':'); i >= 0 && bytes.IndexByte(addr[i+1:], ':') < 0 {
		return addr[:i]
	}
	return addr // an IPv6 address has two colons at least
}
