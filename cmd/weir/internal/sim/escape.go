package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// This is as much of net/url as a link needs. In the page that package would weigh more than all of
// package sim.

// parseQuery returns the values of each field of a query, and the names of the fields in order.
func parseQuery(query string) (fields map[string][]string, names []string, err error) {
	fields = make(map[string][]string)
	for _, pair := range strings.Split(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		text, err := unescape(value)
		if err != nil {
			return nil, nil, err
		}
		if fields[name] == nil {
			names = append(names, name)
		}
		fields[name] = append(fields[name], text)
	}
	return fields, names, nil
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '+':
			b.WriteByte(' ')
		case '%':
			c, err := strconv.ParseUint(s[i+1:min(i+3, len(s))], 16, 8)
			if err != nil || i+3 > len(s) {
				return "", fmt.Errorf("the link has %.80q, must have two hexadecimal digits after %%", s[i:])
			}
			b.WriteByte(byte(c))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// escape escapes what a fragment may not have, and what means something else in a query.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ':
			b.WriteByte('+')
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', strings.IndexByte("-._~/,:()=", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
