package iolimit_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/iolimit"
)

// zeros is a reader that costs nothing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// What a Reader and a Writer cost for 32 kB, beside a reader and a writer that cost nothing.
func BenchmarkRead32kB(b *testing.B) {
	r, buf := iolimit.NewReader(b.Context(), zeros{}, limitOf(roomy)), make([]byte, 32_000)
	b.ReportAllocs()
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		_, _ = io.ReadFull(r, buf)
	}
}

func BenchmarkWrite32kB(b *testing.B) {
	w, buf := iolimit.NewWriter(b.Context(), io.Discard, limitOf(roomy)), make([]byte, 32_000)
	b.ReportAllocs()
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		_, _ = w.Write(buf)
	}
}

// A chunk that need not wait costs the allocations of one Wait, and no more.
func TestAllocations(t *testing.T) {
	l := limitOf(roomy)
	buf := make([]byte, 1000)
	r, w := iolimit.NewReader(t.Context(), zeros{}, l), iolimit.NewWriter(t.Context(), io.Discard, l)
	near, far := pipe(t)
	go io.Copy(io.Discard, far)
	c := iolimit.NewConn(near, nil, []iolimit.Limit{l})
	wait := kit.AllocsPerRun(100, func() { _ = l.Limiter.Wait(t.Context(), l.Key, 1000) })
	bare := kit.AllocsPerRun(100, func() { _, _ = near.Write(buf) })
	t.Logf("%v allocations in Wait", wait)
	assert.LessOrEqual(t, kit.AllocsPerRun(100, func() { _, _ = r.Read(buf) }), wait)
	assert.LessOrEqual(t, kit.AllocsPerRun(100, func() { _, _ = w.Write(buf) }), wait)
	assert.LessOrEqual(t, kit.AllocsPerRun(100, func() { _, _ = c.Write(buf) }), wait+bare)
}
