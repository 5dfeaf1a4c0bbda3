package iolimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/iolimit"
)

// Many connections that share a limit get equal shares of it, and together no more than it allows.
func TestConnsShareEqually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := weir.TokenBucket{Limit: 100_000, Per: time.Second, Burst: 8000} // chunks of 1000
		shared := limitOf(p)
		kit.Take(t, shared.Limiter, shared.Key, p.Burst) // else the first of them gets it all
		var all flow
		got := make([]flow, 10)
		var done sync.WaitGroup
		for i := range got {
			near, far := net.Pipe()
			c := iolimit.NewConn(near, nil, []iolimit.Limit{shared})
			done.Go(func() {
				_, err := c.Write(make([]byte, 1<<20))
				assert.Error(t, err) // of Close
			})
			done.Go(func() {
				for buf := make([]byte, 32<<10); ; {
					n, err := far.Read(buf)
					if err != nil {
						return
					}
					all.pass(n)
					got[i].pass(n)
				}
			})
			time.AfterFunc(5*time.Second, func() { c.Close() })
		}
		done.Wait()
		all.within(t, most(p, 0))
		assert.InDelta(t, 500_000, all.total(), 1000)
		for i := range got {
			assert.InDelta(t, 50_000, got[i].total(), 1000)
		}
	})
}

// slow is a connection whose next byte, in either direction, waits for a minute. Two bytes come
// from the other side.
func slow(t *testing.T) *iolimit.Conn {
	near, far := pipe(t)
	go far.Write([]byte("ab"))
	go io.Copy(io.Discard, far)
	p := weir.TokenBucket{Limit: 1, Per: time.Minute}
	read, write := limitOf(p), limitOf(p)
	assert.True(t, read.Limiter.Allow(read.Key))
	assert.True(t, write.Limiter.Allow(write.Key))
	return iolimit.NewConn(near, []iolimit.Limit{read}, []iolimit.Limit{write})
}

// bothWays calls test with a Read and with a Write of one byte that have to wait.
func bothWays(t *testing.T, test func(t *testing.T, c *iolimit.Conn, call func() (int, error), set func(time.Time) error)) {
	t.Run("Read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := slow(t)
			test(t, c, func() (int, error) { return c.Read(make([]byte, 1)) }, c.SetReadDeadline)
		})
	})
	t.Run("Write", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := slow(t)
			test(t, c, func() (int, error) { return c.Write([]byte("a")) }, c.SetWriteDeadline)
		})
	})
}

// timedOut asserts that err is what a deadline of a net.Conn is to cause.
func timedOut(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	timeout, ok := err.(net.Error) // not errors.As: as callers in the standard library do
	require.True(t, ok)
	assert.True(t, timeout.Timeout())
}

// A deadline before the call, before its turn, or set or moved while it waits: all end the wait at
// their instant. After that, a later deadline lets the same byte pass.
func TestConnDeadlines(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		before time.Duration   // the deadline before the call; 0 is none
		during []time.Duration // deadlines that are set each second after; -1 is none
		ends   time.Duration
	}{
		"past":                   {-s, nil, 0},
		"during the wait":        {5 * s, nil, 5 * s},
		"set while it waits":     {0, []time.Duration{5 * s}, 5 * s},
		"past, while it waits":   {0, []time.Duration{s / 2}, s},
		"sooner, then later":     {50 * s, []time.Duration{3 * s, 9 * s}, 9 * s},
		"removed, and set again": {2 * s, []time.Duration{-1, 9 * s}, 9 * s},
		"after the turn":         {61 * s, nil, 60 * s},
		"removed":                {5 * s, []time.Duration{-1}, 60 * s},
		"moved behind the turn":  {5 * s, []time.Duration{61 * s}, 60 * s},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, _ *iolimit.Conn, call func() (int, error), set func(time.Time) error) {
				start := time.Now()
				if c.before != 0 {
					require.NoError(t, set(start.Add(c.before)))
				}
				for i, d := range c.during {
					time.AfterFunc(time.Duration(i+1)*s, func() {
						at := start.Add(d)
						if d < 0 {
							at = time.Time{}
						}
						assert.NoError(t, set(at))
					})
				}
				n, err := call()
				assert.Equal(t, c.ends, time.Since(start))
				if c.ends < 60*s {
					assert.Zero(t, n)
					timedOut(t, err)
					_, err = call()
					timedOut(t, err) // until there is a later one
					require.NoError(t, set(time.Time{}))
					n, err = call()
					assert.Equal(t, 60*s, time.Since(start))
				}
				require.NoError(t, err)
				assert.Equal(t, 1, n)
			})
		})
	}
}

// SetDeadline is for both directions. What a Read got before the deadline comes after it.
func TestConnSetDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := pipe(t)
		go far.Write([]byte("abcdef"))
		l := limitOf(weir.TokenBucket{Limit: 6, Per: time.Minute})
		require.NoError(t, l.Limiter.Wait(t.Context(), l.Key, 6))
		c := iolimit.NewConn(near, []iolimit.Limit{l}, []iolimit.Limit{l})
		require.NoError(t, c.SetDeadline(time.Now().Add(time.Second)))
		passes(t, time.Second, func() {
			_, err := c.Read(make([]byte, 6))
			timedOut(t, err)
			_, err = c.Write([]byte("x"))
			timedOut(t, err)
		})
		require.NoError(t, c.SetDeadline(time.Now().Add(time.Hour)))
		buf := make([]byte, 4)
		passes(t, 39*time.Second, func() {
			n, err := c.Read(buf)
			require.NoError(t, err)
			assert.Equal(t, "abcd", string(buf[:n]))
		})
		passes(t, 20*time.Second, func() {
			n, err := c.Read(buf)
			require.NoError(t, err)
			assert.Equal(t, "ef", string(buf[:n]))
		})
	})
}

// Close ends a wait at once, and calls that wait for that one. After it, all calls fail.
func TestConnClose(t *testing.T) {
	bothWays(t, func(t *testing.T, c *iolimit.Conn, call func() (int, error), set func(time.Time) error) {
		var done sync.WaitGroup
		for range 3 {
			done.Go(func() {
				n, err := call()
				assert.Zero(t, n)
				var wrapped *net.OpError
				if assert.ErrorAs(t, err, &wrapped) {
					assert.Equal(t, "pipe", wrapped.Net)
					assert.False(t, wrapped.Timeout())
				}
				assert.ErrorIs(t, err, net.ErrClosed)
			})
		}
		time.AfterFunc(time.Second, func() { assert.NoError(t, c.Close()) })
		passes(t, time.Second, done.Wait)
		_ = set(time.Time{})
		_, err := call()
		require.ErrorIs(t, err, net.ErrClosed)
		assert.NoError(t, c.Close())
	})
}

// A deadline is kept to the instant, also while a store over a network takes its time.
func TestConnDeadlineWhileTheStoreDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := new(weir.MemStore)
		slow := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.N == 0 { // the size of a chunk
				return mem.Do(ctx, r)
			}
			select {
			case <-ctx.Done():
				return weir.Answer{}, ctx.Err()
			case <-time.After(500 * time.Millisecond):
				return mem.Do(ctx, r)
			}
		})
		near, _ := pipe(t)
		c := iolimit.NewConn(near, nil, []iolimit.Limit{{Limiter: weir.Must(weir.New(roomy, weir.WithStore(slow)))}})
		start := time.Now()
		require.NoError(t, c.SetDeadline(start.Add(300*time.Millisecond)))
		_, err := c.Write([]byte("a"))
		timedOut(t, err)
		assert.Equal(t, 300*time.Millisecond, time.Since(start))
	})
}

// Close counts more than a deadline that has passed.
func TestConnCloseAfterDeadline(t *testing.T) {
	bothWays(t, func(t *testing.T, c *iolimit.Conn, call func() (int, error), set func(time.Time) error) {
		require.NoError(t, set(time.Now().Add(-time.Second)))
		_, err := call()
		timedOut(t, err)
		require.NoError(t, c.Close())
		_, err = call()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

// A failed limiter is no timeout. Its error is that of the operation.
func TestConnLimiterFails(t *testing.T) {
	near, far := pipe(t)
	go far.Write([]byte("a"))
	l := []iolimit.Limit{{Limiter: &flaky{KeyedLimiter: weir.Must(weir.New(roomy)), err: errors.New("the store is down")}}}
	c := iolimit.NewConn(near, l, l)
	_, err := c.Read(make([]byte, 1))
	require.EqualError(t, err, "read pipe pipe->pipe: the store is down")
	_, err = c.Write([]byte("a"))
	require.EqualError(t, err, "write pipe pipe->pipe: the store is down")
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	assert.False(t, timeout.Timeout())
}

// Concurrent Writes of many chunks do not mix, and concurrent Reads lose nothing.
func TestConnConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := pipe(t)
		l := []iolimit.Limit{limitOf(weir.TokenBucket{Limit: 10_000, Per: time.Second, Burst: 1024})}
		w, r := iolimit.NewConn(near, nil, l), iolimit.NewConn(far, l, nil)
		var writes, reads sync.WaitGroup
		for i := range 8 {
			writes.Go(func() {
				n, err := w.Write(slices.Repeat([]byte{byte(i)}, 2000))
				assert.NoError(t, err)
				assert.Equal(t, 2000, n)
			})
		}
		var mu sync.Mutex
		var counts [8]int
		for range 4 {
			reads.Go(func() {
				for buf := make([]byte, 250); ; {
					n, err := r.Read(buf)
					if err != nil {
						return
					}
					assert.Len(t, slices.Compact(slices.Clone(buf[:n])), 1)
					mu.Lock()
					counts[buf[0]] += n
					mu.Unlock()
				}
			})
		}
		writes.Wait()
		w.Close() // the last byte has been read, and may wait for its turn
		reads.Wait()
		assert.Equal(t, [8]int{2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000}, counts)
	})
}
