package main

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

var ten = weir.FixedWindow{Limit: 10, Per: time.Second}

// open opens a way in two nodes, and returns how often they have called their store.
func open(t *testing.T, name string) (nodes [2]taker, calls *atomic.Int64, end func()) {
	calls = new(atomic.Int64)
	shared := counted{new(weir.MemStore), calls}
	w, ok := wayNamed(name)
	require.True(t, ok)
	var ends [2]func()
	for i := range nodes {
		take, release, err := w.open(ten, shared, i, 2)
		require.NoError(t, err)
		nodes[i], ends[i] = take, func() { require.NoError(t, release(t.Context())) }
	}
	return nodes, calls, func() { ends[0](); ends[1]() }
}

// take asks for n events at once, and returns how many are granted.
func take(t *testing.T, node taker, n int) int64 {
	var granted atomic.Int64
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			r, err := node.Take(t.Context(), key, 1)
			if assert.NoError(t, err); r.Allowed {
				granted.Add(1)
			}
		})
	}
	all.Wait()
	return granted.Load()
}

// Requests that come together are one call.
func TestBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, calls, end := open(t, "batched")
		defer end()
		assert.EqualValues(t, 6, take(t, nodes[0], 6))
		assert.EqualValues(t, 1, calls.Load())
		assert.EqualValues(t, 4, take(t, nodes[1], 6))
		assert.EqualValues(t, 2, calls.Load())
	})
}

// Nodes learn each 100 ms what the others have granted. Until then each grants the limit.
func TestSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, calls, end := open(t, "synced")
		defer end()
		assert.EqualValues(t, 10, take(t, nodes[0], 15))
		assert.EqualValues(t, 7, take(t, nodes[1], 7))
		assert.Zero(t, calls.Load())
		time.Sleep(250 * time.Millisecond)
		assert.Zero(t, take(t, nodes[1], 1))
		assert.EqualValues(t, 4, calls.Load())
		time.Sleep(time.Second) // a new window
		assert.EqualValues(t, 6, take(t, nodes[0], 6))
		time.Sleep(250 * time.Millisecond)
		assert.EqualValues(t, 4, take(t, nodes[1], 6))
	})
}
