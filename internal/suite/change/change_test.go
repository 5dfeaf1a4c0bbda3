package change

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

func memStore(weir.Clock) weir.Store { return new(weir.MemStore) }

func TestMemStore(t *testing.T) { Suite{New: memStore, Bubbles: true, Foreign: true}.Run(t) }

// The rules hold in a process that is restarted before every request or so.
func TestRestartedMemStore(t *testing.T) {
	Suite{New: func(weir.Clock) weir.Store { return new(kit.Restarted) }, Bubbles: true}.Run(t)
}

// The trials have all kinds of policies.
func TestEveryKindIsDrawn(t *testing.T) {
	d, drawn := newDraw(rand.New(rand.NewPCG(1, 1)), 1), map[string]bool{}
	for range 1000 {
		drawn[fmt.Sprintf("%T", d.leaf().leaf)] = true
	}
	for _, p := range append(kit.AllPolicies(10, time.Hour), kit.MorePolicies(10, time.Hour)...) {
		if weir.Components(p) == nil {
			assert.Contains(t, drawn, fmt.Sprintf("%T", p))
		}
	}
}
