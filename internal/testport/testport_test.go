package testport_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/testport"
)

func TestPortsAreClaimedOnce(t *testing.T) {
	seen := map[int]bool{}
	var ports []testport.Port
	for range 500 {
		p, err := testport.Claim()
		require.NoError(t, err)
		ports = append(ports, p)
		require.False(t, seen[p.Number], "%d was claimed twice", p.Number)
		seen[p.Number] = true
	}
	for _, p := range ports {
		require.NoError(t, p.Close())
	}
	assert.NoError(t, testport.Port{}.Close())
}

func TestPortCanBeListenedOnAgain(t *testing.T) {
	p, err := testport.Claim()
	require.NoError(t, err)
	defer p.Close()
	for range 3 {
		l, err := net.Listen("tcp4", p.Addr())
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}
