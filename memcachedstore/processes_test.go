package memcachedstore_test

import (
	"testing"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/traffic"
	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
)

// Several processes are granted exactly the limit of a key.
func TestProcessesShareALimit(t *testing.T) {
	traffic.Processes(t,
		func(t *testing.T) string { return memcachedtest.Start(t).Addr() },
		func(t *testing.T, addr string) weir.Store { return newStore(t, newClient(t, addr)) })
}
