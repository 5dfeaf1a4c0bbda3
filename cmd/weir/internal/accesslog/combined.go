package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
)

// combined reads the Combined Log Format, and what is a part or a variant of it:
//
//	192.0.2.1 - ann [10/Oct/2026:13:55:36 +0000] "GET /a HTTP/1.1" 200 2326 "http://a/b" "curl/8"
//
// In the Common Log Format the last two are not there. Words after them are extra1, extra2, …. The
// server's name may stand before the address, or what a collector of logs puts before each line.
type combined struct {
	stamps stamps
	fields [8][]byte // by the names in combinedFields
	uri    []byte
	extra  [][]byte
}

var combinedFields = [8]string{"host", "ip", "user", "request", "status", "bytes", "referer", "agent"}

const maxExtra = 32

func (*combined) Format() string { return "combined" }

func (c *combined) Parse(line []byte) (Stamp, error) {
	// The user, whom the client names, and what stands before the address may have brackets. They
	// have no quote as it is: servers put a backslash before it, or write it in another way.
	end := max(bytes.Index(line, []byte(`] "`)), 0)
	start := bytes.LastIndex(line[:end], []byte(" ["))
	if start < 0 {
		return Stamp{}, errors.New("no time in brackets")
	}
	before, time, rest := line[:start], line[start+2:end], line[end+2:]
	if err := c.who(before); err != nil {
		return Stamp{}, err
	}
	for i := 3; i < len(c.fields); i++ {
		c.fields[i] = nil
	}
	c.extra = c.extra[:0]
	n := 3
	for rest != nil {
		w, next, err := word(rest)
		switch {
		case err != nil:
			return Stamp{}, err
		case n < len(c.fields):
			c.fields[n] = w
		case len(c.extra) < maxExtra:
			c.extra = append(c.extra, w)
		}
		rest = next
		n++
	}
	if n < 6 {
		return Stamp{}, errors.New("no request, status and bytes after the time")
	}
	if !digits(c.fields[4]) {
		return Stamp{}, fmt.Errorf("status is %q, must be a number", shorten(string(c.fields[4]), 80))
	}
	_, c.uri = request(c.fields[3])
	return c.stamps.parse(time)
}

// who reads the address, the word of identd, which is - everywhere, and the user, who may have
// spaces. If there is another word in the place of the -, the address is further on.
func (c *combined) who(words []byte) error {
	ip, after, _ := bytes.Cut(words, []byte(" "))
	ident, user, ok := bytes.Cut(after, []byte(" "))
	if !ok {
		return errors.New("no address, ident and user before the time")
	}
	c.fields[0], c.fields[1], c.fields[2] = nil, ip, user
	if string(ident) == "-" {
		return nil
	}
	for rest := after; ; {
		word, next, ok := bytes.Cut(rest, []byte(" "))
		name, ends := bytes.CutPrefix(next, []byte("- "))
		switch {
		case !ok:
			return nil
		case ends && isAddr(word):
			c.fields[1], c.fields[2] = word, name
			if len(rest) == len(after) {
				c.fields[0] = withoutPort(ip) // the server's name
			}
			return nil
		}
		rest = next
	}
}

func isAddr(b []byte) bool {
	_, err := netip.ParseAddr(string(withoutPort(b)))
	return err == nil
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

func (c *combined) Field(name string) []byte {
	switch name {
	case "ip":
		return withoutPort(orNil(c.fields[1]))
	case "uri":
		return orNil(c.uri)
	case "path":
		return orNil(path(c.uri))
	case "method":
		method, _ := request(c.fields[3])
		return orNil(method)
	}
	for i, field := range combinedFields {
		if field == name {
			return orNil(c.fields[i])
		}
	}
	if n := extraIndex(name); 0 <= n && n < len(c.extra) {
		return orNil(c.extra[n])
	}
	return nil
}

// extraIndex is 0 for extra1.
func extraIndex(name string) int {
	var n int
	if _, err := fmt.Sscanf(name, "extra%d", &n); err != nil || n > maxExtra || fmt.Sprintf("extra%d", n) != name {
		return -1
	}
	return n - 1
}

func (c *combined) Check(field string) error {
	if extraIndex(field) >= 0 {
		return nil
	}
	return oneOf(field, c.Format(), append([]string{"extra1", "request"}, common...))
}
