package redisstore_test

import (
	"testing"

	suite "github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// Processes that take events ahead of need share their limits, to the event.
func TestLeases(t *testing.T) {
	t.Parallel()
	addrs := []string{redistest.Single(t).Addr()}
	suite.Leases(t, made(t, addrs, remote.Config{}), made(t, addrs, remote.Config{}))
}
