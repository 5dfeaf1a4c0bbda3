package accesslog

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWithoutPort(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "192.0.2.1": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1", "2001:db8::1": "2001:db8::1",
		"[2001:db8::1": "[2001:db8::1", "": "", "::1": "::1", "[::1]": "::1", "host:1": "host",
	} {
		assert.Equal(t, want, string(withoutPort([]byte(in))), in)
	}
}
