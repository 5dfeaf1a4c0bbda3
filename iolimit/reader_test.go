package iolimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/iolimit"
)

// A policy that a test does not exhaust.
var roomy = weir.TokenBucket{Limit: 1 << 30, Per: time.Millisecond}

// Whatever the size of the buffer, no span has more bytes than the policy allows, and the last byte
// comes when the bucket has earned it.
func TestReaderPace(t *testing.T) {
	p := weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 100}
	for _, size := range []int{1, 7, 99, 100, 101, 4096} {
		synctest.Test(t, func(t *testing.T) {
			data := bytesOf(2100)
			var f flow
			passes(t, 2*time.Second, func() {
				got := f.readAll(t, iolimit.NewReader(t.Context(), bytes.NewReader(data), limitOf(p)), size)
				assert.Equal(t, data, got)
			})
			f.within(t, most(p, 0))
		})
	}
}

// A Reader passes what the standard library demands of readers, over readers of all manners.
func TestReaderIsAReader(t *testing.T) {
	data := bytesOf(5000)
	for name, manner := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "one byte": iotest.OneByteReader,
		"half": iotest.HalfReader, "EOF with data": iotest.DataErrReader,
	} {
		l := limitOf(weir.TokenBucket{Limit: 8192, Per: time.Hour})
		r := iolimit.NewReader(t.Context(), manner(bytes.NewReader(data)), l)
		require.NoError(t, iotest.TestReader(r, data), name)
		assert.Equal(t, 8192-len(data), remaining(t, l), "%s: what was read counts, and not the buffers", name)
	}
}

// An empty buffer reads nothing, not even an error. What is read with an error counts, and the
// error comes with it.
func TestReaderErrors(t *testing.T) {
	l := limitOf(roomy)
	fails := errors.New("broken")
	calls := 0
	r := iolimit.NewReader(t.Context(), readerFunc(func(p []byte) (int, error) {
		calls++
		return copy(p, "abc"), fails
	}), l)
	n, err := r.Read(nil)
	assert.Zero(t, n)
	require.NoError(t, err)
	n, err = r.Read(make([]byte, 2))
	assert.Equal(t, 2, n)
	require.Equal(t, fails, err)
	assert.Equal(t, 1, calls)

	for _, count := range []int{-1, 3} {
		r := iolimit.NewReader(t.Context(), readerFunc(func([]byte) (int, error) { return count, nil }), l)
		n, err = r.Read(make([]byte, 2))
		assert.Zero(t, n)
		require.ErrorContains(t, err, "returned a count")
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// If a limit fails, what was read stays, with the error that came with it. A limit that has granted
// it does not count it again.
func TestReaderKeeps(t *testing.T) {
	first := limitOf(weir.TokenBucket{Limit: 1000, Per: time.Hour})
	second := &flaky{KeyedLimiter: weir.Must(weir.New(roomy)), err: errors.New("the store is down")}
	r := iolimit.NewReader(t.Context(), iotest.DataErrReader(bytes.NewReader([]byte("abcdef"))), first, iolimit.Limit{Limiter: second})
	for range 3 {
		n, err := r.Read(make([]byte, 10))
		assert.Zero(t, n)
		require.ErrorIs(t, err, second.err)
		n, err = r.Read(nil)
		assert.Zero(t, n)
		require.NoError(t, err)
	}
	second.err = nil
	var f flow
	assert.Equal(t, "abcdef", string(f.readAll(t, r, 4)))
	assert.Equal(t, 994, remaining(t, first))
	assert.Equal(t, []int{4, 2}, second.waits)
}

// A limit whose store has lost its connection is not the end of what is read.
func TestReaderStoreAtItsEnd(t *testing.T) {
	store := kit.StoreFunc(func(_ context.Context, r weir.Request) (weir.Answer, error) {
		if r.Ask.N == 0 {
			return weir.Answer{Result: weir.Result{Limit: 1000}}, nil
		}
		return weir.Answer{}, fmt.Errorf("the store: %w", io.EOF)
	})
	l := iolimit.Limit{Limiter: weir.Must(weir.New(roomy, weir.WithStore(store)))}
	_, err := iolimit.NewReader(t.Context(), bytes.NewReader([]byte("abc")), l).Read(make([]byte, 3))
	require.ErrorContains(t, err, "the store: EOF")
	assert.NotErrorIs(t, err, io.EOF)
}

// A look that fails reads nothing.
func TestReaderLookFails(t *testing.T) {
	var none weir.KeyedLimiter
	in := bytes.NewReader([]byte("abc"))
	_, err := iolimit.NewReader(t.Context(), in, iolimit.Limit{Limiter: &none}).Read(make([]byte, 3))
	require.ErrorContains(t, err, "must be made by New")
	assert.Equal(t, 3, in.Len())
}

// The deadline of the context is known in advance: Read fails at once.
func TestReaderContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := iolimit.NewReader(ctx, bytes.NewReader(make([]byte, 1000)), limitOf(weir.TokenBucket{Limit: 10, Per: time.Hour}))
		passes(t, 0, func() {
			_, err := io.ReadFull(r, make([]byte, 10))
			require.NoError(t, err)
			_, err = r.Read(make([]byte, 10))
			require.ErrorIs(t, err, weir.ErrTooLate)
		})
		cancel()
		_, err := r.Read(make([]byte, 10))
		require.ErrorIs(t, err, context.Canceled)
	})
}

// A Reader whose underlying reader has nothing holds no part of the limit.
func TestReaderThatWaitsForDataTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limitOf(weir.TokenBucket{Limit: 1000, Per: time.Hour})
		in, out := io.Pipe()
		go iolimit.NewReader(t.Context(), in, l).Read(make([]byte, 100))
		synctest.Wait()
		assert.Equal(t, 1000, remaining(t, l))
		_, err := out.Write([]byte("abc"))
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, 997, remaining(t, l))
	})
}

// What is kept is a copy, because the buffer is the caller's. An error that came with it, once,
// comes after it.
func TestReaderKeepsACopy(t *testing.T) {
	broken, calls := errors.New("broken"), 0
	down := &flaky{KeyedLimiter: weir.Must(weir.New(roomy)), err: errors.New("the store is down")}
	r := iolimit.NewReader(t.Context(), readerFunc(func(p []byte) (int, error) {
		if calls++; calls > 1 {
			return 0, io.EOF
		}
		return copy(p, "abc"), broken
	}), iolimit.Limit{Limiter: down})
	buf := make([]byte, 3)
	_, err := r.Read(buf)
	require.ErrorIs(t, err, down.err)
	clear(buf)
	down.err = nil
	got, err := io.ReadAll(r)
	assert.Equal(t, "abc", string(got))
	require.Equal(t, broken, err)
}

// What is kept passes when the last limit grants it, and not later, also if it is read in parts. A
// part that was granted before would pass in addition to what the limit grants then.
func TestReaderKeptInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := pipe(t)
		go far.Write(make([]byte, 10_000))
		c := iolimit.NewConn(near, []iolimit.Limit{limitOf(weir.SlidingLog{Limit: 1000, Per: time.Second})}, nil)
		var f flow
		read := func(size int) {
			n, err := c.Read(make([]byte, size))
			require.NoError(t, err)
			f.pass(n)
		}
		read(1000)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Second/2)))
		n, err := c.Read(make([]byte, 1000))
		assert.Zero(t, n)
		timedOut(t, err)
		require.NoError(t, c.SetReadDeadline(time.Time{}))
		read(10)
		time.Sleep(time.Second)
		read(1000)
		read(1000)
		read(1000)
		assert.Equal(t, 4000, f.total())
		f.within(t, func(span time.Duration) int { return 1000 * (1 + int(span/time.Second)) })
	})
}
