package iolimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/iolimit"
)

// Whatever the size of the buffer, no span has more bytes than the policy allows, and the last byte
// goes when the bucket has earned it.
func TestWriterPace(t *testing.T) {
	p := weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 100}
	for _, size := range []int{1, 7, 99, 100, 101, 2100} {
		synctest.Test(t, func(t *testing.T) {
			data := bytesOf(2100)
			var out sink
			w := iolimit.NewWriter(t.Context(), &out, limitOf(p))
			passes(t, 2*time.Second, func() {
				for rest := data; len(rest) > 0; {
					part := rest[:min(size, len(rest))]
					n, err := w.Write(part)
					require.NoError(t, err)
					require.Len(t, part, n)
					rest = rest[n:]
				}
			})
			assert.Equal(t, data, out.Bytes())
			out.within(t, most(p, 0))
		})
	}
}

// io.Copy cannot find a way around the limits: neither does a Writer have ReadFrom, nor a Reader or
// Conn WriteTo.
func TestCopyIsLimited(t *testing.T) {
	l := limitOf(weir.TokenBucket{Limit: 1000, Per: time.Hour})
	_, err := io.Copy(iolimit.NewWriter(t.Context(), io.Discard, l), strings.NewReader("abcdef"))
	require.NoError(t, err)
	assert.Equal(t, 994, remaining(t, l))
	_, err = io.Copy(new(bytes.Buffer), iolimit.NewReader(t.Context(), strings.NewReader("abcdef"), l))
	require.NoError(t, err)
	assert.Equal(t, 988, remaining(t, l))

	near, far := pipe(t)
	go far.Write([]byte("abc"))
	c := iolimit.NewConn(near, []iolimit.Limit{l}, []iolimit.Limit{l})
	_, err = io.Copy(new(bytes.Buffer), io.LimitReader(c, 3))
	require.NoError(t, err)
	go io.Copy(io.Discard, far)
	_, err = io.Copy(c, strings.NewReader("abcd"))
	require.NoError(t, err)
	assert.Equal(t, 981, remaining(t, l))
}

// An empty Write is free, and reaches the underlying writer.
func TestWriterEmpty(t *testing.T) {
	var out sink
	n, err := iolimit.NewWriter(t.Context(), &out, iolimit.Limit{}).Write(nil)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Len(t, out.passed, 1)
}

// A writerFunc reports a count and an error of a Write of n bytes.
type writerFunc func(n int) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(len(p)) }

// If the underlying writer fails in the middle, Write returns what was written, and the limits get
// the rest back.
func TestWriterPartly(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		second        func(n int) (int, error)
		wrote, counts int
		err           error
	}{
		"part":        {func(int) (int, error) { return 100, broken }, 1100, 1100, broken},
		"nothing":     {func(int) (int, error) { return 0, broken }, 1000, 1000, broken},
		"all":         {func(n int) (int, error) { return n, broken }, 2000, 2000, broken},
		"short":       {func(int) (int, error) { return 5, nil }, 1005, 1005, io.ErrShortWrite},
		"too much":    {func(n int) (int, error) { return n + 1, nil }, 1000, 2000, nil},
		"less than 0": {func(int) (int, error) { return -1, nil }, 1000, 2000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := limitOf(weir.TokenBucket{Limit: 8000, Per: time.Hour}), limitOf(weir.FixedWindow{Limit: 9000, Per: time.Hour})
			calls := 0
			w := iolimit.NewWriter(t.Context(), writerFunc(func(n int) (int, error) {
				if calls++; calls == 2 {
					return c.second(n)
				}
				return n, nil
			}), a, b)
			n, err := w.Write(make([]byte, 5000))
			assert.Equal(t, c.wrote, n)
			if c.err != nil {
				require.Equal(t, c.err, err)
			} else {
				require.ErrorContains(t, err, "returned a count")
			}
			assert.Equal(t, []int{8000 - c.counts, 9000 - c.counts}, []int{remaining(t, a), remaining(t, b)})
		})
	}
}

// If a limit fails, those before it get back what they have granted for the chunk, and Write
// returns what was written before.
func TestWriterGivesBack(t *testing.T) {
	first := limitOf(weir.TokenBucket{Limit: 8000, Per: time.Hour})
	second := &flaky{KeyedLimiter: weir.Must(weir.New(weir.TokenBucket{Limit: 9000, Per: time.Hour}))}
	var out bytes.Buffer
	w := iolimit.NewWriter(t.Context(), writerFunc(func(n int) (int, error) {
		second.err = errors.New("the store is down")
		return out.Write(make([]byte, n))
	}), first, iolimit.Limit{Limiter: second})
	n, err := w.Write(make([]byte, 5000))
	assert.Equal(t, 1000, n)
	require.ErrorIs(t, err, second.err)
	assert.Equal(t, 7000, remaining(t, first))
	assert.Equal(t, 1000, out.Len())
}

// A Write whose context ends returns what was written, and its turn goes to others.
func TestWriterContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := limitOf(weir.TokenBucket{Limit: 1000, Per: time.Second})
		time.AfterFunc(1500*time.Millisecond, cancel)
		w := iolimit.NewWriter(ctx, io.Discard, l)
		passes(t, 1500*time.Millisecond, func() {
			n, err := w.Write(make([]byte, 10_000))
			assert.Equal(t, 2000, n)
			require.ErrorIs(t, err, context.Canceled)
		})
		assert.Equal(t, 500, remaining(t, l))
		n, err := w.Write([]byte("a"))
		assert.Zero(t, n)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// shrinks is a limiter whose policy is changed from 100 bytes to 40 while the first call waits. It
// grants 40 of the chunk, and then fails.
type shrinks struct {
	weir.Limiter
	limit    int
	waited   []int
	returned int
}

func (s *shrinks) Take(context.Context, string, int) (weir.Result, error) {
	return weir.Result{Allowed: true, Limit: s.limit}, nil
}

func (s *shrinks) Wait(_ context.Context, _ string, n int) error {
	s.waited = append(s.waited, n)
	switch len(s.waited) {
	case 1:
		s.limit = 40
		return weir.ErrNeverFits
	case 2:
		return nil
	}
	return io.ErrNoProgress
}

func (s *shrinks) Return(_ context.Context, _ string, n int) error {
	s.returned += n
	return nil
}

// What a limit has granted of a chunk is written. The limits before it have granted all of the
// chunk, and get back what was not written.
func TestWriterGivesBackPartOfAChunk(t *testing.T) {
	for _, c := range []struct {
		wrote           int // of the 40
		err             error
		waited, counted []int
	}{
		{40, io.ErrNoProgress, []int{100, 40, 40}, []int{40, 40}},
		{15, io.ErrShortWrite, []int{100, 40}, []int{15, 15}},
		{0, io.ErrClosedPipe, []int{100, 40}, []int{0, 0}},
	} {
		before, last := limitOf(weir.FixedWindow{Limit: 1000, Per: time.Hour}), &shrinks{limit: 100}
		w := iolimit.NewWriter(t.Context(), writerFunc(func(n int) (int, error) {
			assert.Equal(t, 40, n)
			if c.wrote == 0 {
				return 0, c.err
			}
			return c.wrote, nil
		}), before, iolimit.Limit{Limiter: last})
		n, err := w.Write(bytesOf(100))
		assert.Equal(t, c.wrote, n)
		require.ErrorIs(t, err, c.err)
		assert.Equal(t, c.waited, last.waited)
		assert.Equal(t, c.counted, []int{1000 - remaining(t, before), 40 - last.returned})
	}
}
