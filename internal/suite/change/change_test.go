package change

import (
	"testing"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

func memStore(weir.Clock) weir.Store { return new(weir.MemStore) }

func TestMemStore(t *testing.T) { Suite{New: memStore, Bubbles: true, Foreign: true}.Run(t) }

// The rules hold in a process that is restarted before every request or so.
func TestRestartedMemStore(t *testing.T) {
	Suite{New: func(weir.Clock) weir.Store { return new(kit.Restarted) }, Bubbles: true}.Run(t)
}
