package test

import (
	"testing"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/traffic"
)

// Several processes are granted exactly the limit of a key.
func TestProcessesShareALimit(t *testing.T) {
	traffic.Processes(t,
		func(t *testing.T) string {
			server := addr(sharedServer(t))
			createBucket(t, connect(t, server), config("processes"))
			return server
		},
		func(t *testing.T, server string) weir.Store { return newStore(t, connect(t, server), "processes") })
}
