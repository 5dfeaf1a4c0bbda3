package accesslog

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A path that has a URL in it, as those of proxies have, is a path as a whole.
func TestPath(t *testing.T) {
	for in, want := range map[string]string{
		"/a?b=c": "/a", "/": "/", "*": "*", "": "", "?a": "", "http://a.test/b?c=d": "/b", "http://a.test?c=/d": "/", "http://a.test": "/",
		"/600x/https://a.test/login?b": "/600x/https://a.test/login", "/a://b": "/a://b", "/?u=http://a.test/b": "/",
		"https://a.test:443/http://b/c": "/http://b/c",
	} {
		assert.Equal(t, want, string(path([]byte(in))), in)
	}
}

func TestWithoutPort(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "192.0.2.1": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1", "2001:db8::1": "2001:db8::1",
		"[2001:db8::1": "[2001:db8::1", "": "", "::1": "::1", "[::1]": "::1", "host:1": "host",
	} {
		assert.Equal(t, want, string(withoutPort([]byte(in))), in)
	}
}
