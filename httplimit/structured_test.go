package httplimit_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An item is a member of a list of Structured Fields (RFC 9651): a string with integer parameters.
type item struct {
	name   string
	params map[string]int64
}

// parseItems parses the lines of such a list strictly, and no other kind of members.
func parseItems(lines []string) (items []item, err error) {
	s := strings.Join(lines, ", ")
	for {
		it := item{params: map[string]int64{}}
		if !strings.HasPrefix(s, `"`) {
			return nil, fmt.Errorf("no string at %q", s)
		}
		for s = s[1:]; !strings.HasPrefix(s, `"`); s = s[1:] {
			if s != "" && s[0] == '\\' {
				s = s[1:]
				if s == "" || s[0] != '"' && s[0] != '\\' {
					return nil, fmt.Errorf("wrong escape at %q", s)
				}
			}
			if s == "" || s[0] < ' ' || s[0] > '~' {
				return nil, fmt.Errorf("wrong character at %q", s)
			}
			it.name += s[:1]
		}
		s = s[1:]
		for strings.HasPrefix(s, ";") {
			name, rest, _ := strings.Cut(s[1:], "=")
			digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
			if len(name) == 0 || len(digits) == 0 || len(digits) > 15 {
				return nil, fmt.Errorf("wrong parameter at %q", s)
			}
			it.params[name], _ = strconv.ParseInt(digits, 10, 64)
			s = rest[len(digits):]
		}
		items = append(items, it)
		if s == "" {
			return items, nil
		}
		if !strings.HasPrefix(s, ",") {
			return nil, fmt.Errorf("no comma at %q", s)
		}
		s = strings.TrimLeft(s[1:], " \t")
	}
}

func fieldsOf(t *testing.T, h http.Header) (policy, limit []item) {
	t.Helper()
	policy, err := parseItems(h.Values("RateLimit-Policy"))
	require.NoError(t, err)
	limit, err = parseItems(h.Values("RateLimit"))
	require.NoError(t, err)
	return policy, limit
}
