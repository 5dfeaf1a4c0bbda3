package iolimit_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/iolimit"
)

func limitOf(p weir.Policy) iolimit.Limit {
	return iolimit.Limit{Limiter: weir.Must(weir.New(p)), Key: "k"}
}

// remaining is how many bytes the limit grants now.
func remaining(t *testing.T, l iolimit.Limit) int { return kit.Take(t, l.Limiter, l.Key, 0).Remaining }

// bytesOf are n bytes that differ from their neighbors.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// A flow is what passed, and when.
type flow struct {
	mu     sync.Mutex
	passed []passage
}

type passage struct {
	at time.Time
	n  int
}

func (f *flow) pass(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passed = append(f.passed, passage{time.Now(), n})
}

func (f *flow) total() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.passed {
		n += p.n
	}
	return n
}

// within asserts that no span, with both ends, has more bytes than its bound.
func (f *flow) within(t *testing.T, bound func(span time.Duration) int) {
	at := make([]int64, len(f.passed)) // numbers: to subtract a time.Time takes ten times as long
	for i, p := range f.passed {
		at[i] = p.at.UnixNano()
	}
	for i, from := range at {
		n := 0
		for j, to := range at[i:] {
			n += f.passed[i+j].n
			span := time.Duration(to - from)
			if n > bound(span) { // assert would take seconds for all spans
				assert.LessOrEqual(t, n, bound(span), "bytes within %v", span)
				return
			}
		}
	}
}

// most is the bound of a TokenBucket, with more bytes.
func most(p weir.TokenBucket, more int) func(time.Duration) int {
	return func(span time.Duration) int {
		return p.Burst + more + int(int64(p.Limit)*int64(span)/int64(p.Per))
	}
}

// A sink is a writer that records what passes.
type sink struct {
	flow
	bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.pass(len(p))
	return s.Buffer.Write(p)
}

// readAll reads all of r by buffers of a size.
func (f *flow) readAll(t *testing.T, r io.Reader, size int) []byte {
	var all []byte
	for buf := make([]byte, size); ; {
		n, err := r.Read(buf)
		if n > 0 {
			f.pass(n)
		}
		all = append(all, buf[:n]...)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
	}
}

// A flaky limiter fails, or counts its waits.
type flaky struct {
	*weir.KeyedLimiter
	err   error
	waits []int
}

func (f *flaky) Wait(ctx context.Context, key string, n int) error {
	if f.err != nil {
		return f.err
	}
	f.waits = append(f.waits, n)
	return f.KeyedLimiter.Wait(ctx, key, n)
}

// pipe returns both ends of a pipe in memory. The test closes them.
func pipe(t *testing.T) (near, far net.Conn) {
	near, far = net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// passes asserts how much time a call takes. It needs a bubble.
func passes(t *testing.T, want time.Duration, call func()) {
	t.Helper()
	start := time.Now()
	call()
	assert.Equal(t, want, time.Since(start))
}
