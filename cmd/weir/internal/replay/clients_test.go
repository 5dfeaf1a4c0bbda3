package replay

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/httplimit"
)

// The key of an address is that which the middleware makes of it.
func TestAddressIsAsInHTTPLimit(t *testing.T) {
	for _, addr := range []string{
		"192.0.2.1", "::ffff:192.0.2.1", "2001:db8:1:2:3:4:5:6", "2001:DB8::1", "::1", "fe80::1%eth0", "64:ff9b::192.0.2.1", "64:ff9b:1::1",
		"2002:c000:201:1::1", "2001:0:c000:201::1", "::192.0.2.1",
	} {
		want, err := httplimit.ClientIP{}.RemoteIP()(&http.Request{RemoteAddr: addr})
		require.NoError(t, err)
		assert.Equal(t, want, string(address([]byte(addr))), addr)
	}
	assert.Equal(t, "host.example.com", string(address([]byte("host.example.com"))))
}

func TestNetwork(t *testing.T) {
	for key, want := range map[string]string{
		"192.0.2.1": "192.0.2.0/24", "2001:db8:1:2::/64": "2001:db8:1::/48", "2001:db8:1:2::3": "2001:db8:1::/48", "10.1.2.0/24": "10.1.2.0/24",
	} {
		prefix, ok := network(key)
		assert.True(t, ok)
		assert.Equal(t, want, prefix.String())
	}
	for _, key := range []string{"", "ann", "192.0.2.1:80", "2001:db8::/200"} {
		_, ok := network(key)
		assert.False(t, ok, key)
	}
}
