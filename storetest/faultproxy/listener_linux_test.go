//go:build linux

package faultproxy

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A process that is being started has the listener open for a while.
func TestRefuse_WhileAChildHasTheListener(t *testing.T) {
	p := New(t, "127.0.0.1:1", nil)
	child, err := p.listener.(*net.TCPListener).File()
	require.NoError(t, err)
	defer child.Close()
	p.Refuse()
	_, err = net.Dial("tcp4", p.Addr())
	require.ErrorContains(t, err, "refused")
}
