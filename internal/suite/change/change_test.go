package change

import (
	"testing"

	"github.com/weir-go/weir"
)

func memStore(weir.Clock) weir.Store { return new(weir.MemStore) }

func TestMemStore(t *testing.T) { Suite{New: memStore, Bubbles: true}.Run(t) }
