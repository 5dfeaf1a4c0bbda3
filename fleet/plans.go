package fleet

import (
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir"
)

// maxPlans bounds how many plans are remembered, for limiters that make new ones all the time. To
// find out about a new plan usually takes a microsecond at most.
const maxPlans = 1 << 14

// A planMap is what a store knows of each plan.
type planMap[T any] struct {
	known sync.Map // of *weir.Plan: its *T
	n     atomic.Int64
}

// of returns what is known of p. If that is nothing, find finds it.
func (m *planMap[T]) of(p *weir.Plan, find func(p *weir.Plan) *T) *T {
	if known, ok := m.known.Load(p); ok {
		return known.(*T)
	}
	if m.n.Add(1) > maxPlans {
		m.known.Clear()
		m.n.Store(1)
	}
	known, _ := m.known.LoadOrStore(p, find(p))
	return known.(*T)
}
