package memory

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// P7: junk keys can't push out a count, nor use up memory.
func TestP7_AFloodForgetsNobody(t *testing.T) {
	const maxKeys = 100_000
	flood := runs.Long(3_000_000, 150_000)
	store := &weir.MemStore{MaxKeys: maxKeys}
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Hour}, weir.WithStore(store), weir.WithClock(clock.NewMock())))
	for l.Allow("abuser") {
	}
	require.Equal(t, 99, kit.Take(t, l, "regular", 1).Remaining)

	before := heap()
	buffer := make([]byte, 0, 32)
	for i := range flood {
		l.Allow(string(strconv.AppendInt(buffer, int64(i), 36)))
	}
	assert.LessOrEqual(t, store.Len(), maxKeys)
	assert.Less(t, heap()-before, 32<<20, "bytes of heap")
	assert.False(t, l.Allow("abuser"), "still over its limit")
	assert.Equal(t, 98, kit.Take(t, l, "regular", 1).Remaining, "still served, from its own count")
	runtime.KeepAlive(l)
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// When there is no room, new keys share an allowance, one per first segment, and none of them has
// more than one allowance, even when there is room again.
func TestMemStoreOverflow(t *testing.T) {
	kit.EachInBubble(t, kit.EveryPolicy, func(t *testing.T, p weir.Policy) {
		if w, ok := p.(weir.FixedWindow); ok && w.Limit == 1_000_000_000 {
			return // as good as unlimited
		}
		mock := clock.NewMock()
		mock.Add(100 * time.Millisecond)
		store := &weir.MemStore{MaxKeys: 10}
		l := weir.Must(weir.New(p, weir.WithClock(mock), weir.WithStore(store)))
		for i := range 10 {
			require.True(t, l.Allow(kit.KeyName(i)))
		}
		shared := 0
		for i := range 1000 {
			if l.Allow(kit.KeyName(100 + i)) {
				shared++
			}
		}
		one := kit.Take(t, l, "another", 0).Limit
		if _, ok := p.(weir.LeakyBucket); ok {
			one = 1
		}
		assert.Equal(t, one, shared, "all new keys together have one allowance")
		assert.Equal(t, 10, store.Len())

		for i := range 10 {
			assert.Zero(t, kit.Take(t, l, kit.KeyName(i), 0).RetryAfter)
		}
		r := kit.Take(t, l, "another", 1)
		assert.False(t, r.Allowed)
		mock.Add(r.RetryAfter)
		assert.True(t, kit.Take(t, l, "another", 1).Allowed, "at the instant that was told")
		mock.Add(time.Minute)
		for i := range 10 {
			assert.True(t, kit.Take(t, l, kit.KeyName(200+i), 1).Allowed, "there is room again")
		}
		assert.LessOrEqual(t, store.Len(), 10)
	})
}

// A key that was granted events while there was no room does not get another allowance when there
// is.
func TestMemStoreOverflowIsInherited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		store := &weir.MemStore{MaxKeys: 1}
		quick := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Second}, weir.WithClock(mock), weir.WithStore(store), weir.WithName("quick")))
		login := weir.Must(weir.New(weir.SlidingLog{Limit: 5, Per: time.Minute}, weir.WithClock(mock), weir.WithStore(store), weir.WithName("login")))
		require.True(t, quick.Allow("other"))
		require.Equal(t, 1, kit.Take(t, login, "victim", 4).Remaining, "shares, since the store is full")
		require.Equal(t, 1, store.Len())
		mock.Add(2 * time.Second) // other is as good as new, and gives way
		assert.Equal(t, 0, kit.Take(t, login, "victim", 1).Remaining)
		assert.Equal(t, 1, store.Len(), "victim")
		assert.False(t, login.Allow("victim"))
		mock.Add(time.Minute)
		assert.Equal(t, 4, kit.Take(t, login, "victim", 1).Remaining)
	})
}

// A key that finds room again starts with what is left of the state that keys had shared. Where a
// give-back emptied that, the store kept an entry of no policy, and the next sweep of it panicked.
func TestR16_WhatAKeyInheritsIsGivenBack(t *testing.T) {
	mock, store := clock.NewMock(), &weir.MemStore{MaxKeys: 1}
	mock.Add(time.Second)
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.WithStore(store), weir.WithClock(mock)))
	require.True(t, l.Allow("first"))
	require.True(t, l.Allow("shares"))
	require.NoError(t, l.Reset(context.Background(), "first"))
	kit.SetPolicy(t, l, weir.FixedWindow{Limit: 10, Per: time.Hour})
	require.NoError(t, l.Return(context.Background(), "shares", 1))
	for i := range 100 {
		assert.NotPanics(t, func() { l.Allow(kit.KeyName(i)) })
	}
}

// R14: after a change of policy, what keys had shared is charged until the new policy would have
// recovered, from the first request on. Once each denial of a key that found room began that time
// anew: a key, and all new ones, were shut for as long as the old policy counted, here a month.
func TestR14_WhatAKeyInheritsIsChargedForAWhile(t *testing.T) {
	for name, reload := range map[string]bool{"in use": false, "loaded": true} {
		t.Run(name, func(t *testing.T) {
			h := &kit.HandClock{Time: time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)}
			store := &weir.MemStore{MaxKeys: 1}
			newLimiter := func(name string, p weir.Policy) *weir.KeyedLimiter {
				return weir.Must(weir.New(p, weir.WithStore(store), weir.WithClock(h), weir.WithName(name)))
			}
			require.True(t, newLimiter("other", weir.FixedWindow{Limit: 1, Per: time.Hour}).Allow("fills the store"))
			l := newLimiter("l", weir.CalendarWindow{Limit: 10, Unit: weir.Month})
			require.True(t, kit.Take(t, l, "shares", 10).Allowed)
			if h.Time = h.Add(2 * time.Hour); reload {
				store = kit.Reloaded(store)
				l = newLimiter("l", weir.TokenBucket{Limit: 10, Per: time.Second})
			} else {
				kit.SetPolicy(t, l, weir.TokenBucket{Limit: 10, Per: time.Second})
			}
			denied := kit.Take(t, l, "shares", 1)
			require.Equal(t, time.Second, denied.RetryAfter)
			h.Time = h.Add(denied.RetryAfter)
			require.True(t, kit.Take(t, l, "shares", 1).Allowed)
			require.True(t, kit.Take(t, l, "new", 1).Allowed)
		})
	}
}

// R10: a key shares a state or has one of its own, never both. Here a call finds no room. Before it
// shares, another call for the same key takes the place of a key that has expired meanwhile.
func TestR10_AKeySharesOrHasItsOwn(t *testing.T) {
	const maxKeys = 256 // there are two segments, and the two calls often look in different ones
	for range 100 {
		store, frozen, moving := &weir.MemStore{MaxKeys: maxKeys}, new(readClock), new(kit.MovingClock)
		newLimiter := func(name string, p weir.Policy, c weir.Clock) *weir.KeyedLimiter {
			return weir.Must(weir.New(p, weir.WithStore(store), weir.WithClock(c), weir.WithName(name)))
		}
		one := weir.TokenBucket{Limit: 1, Per: time.Second}
		stay, expires := newLimiter("stay", one, frozen), newLimiter("expires", one, moving)
		l := newLimiter("l", weir.FixedWindow{Limit: 10, Per: time.Hour}, moving)
		require.True(t, expires.Allow("k"))
		for i := range maxKeys - 1 {
			require.True(t, stay.Allow(kit.KeyName(i)))
		}
		granted := new(atomic.Int64)
		take := func() {
			if kit.Take(t, l, "k", 10).Allowed {
				granted.Add(10)
			}
		}
		var wg sync.WaitGroup
		frozen.reads.Store(0)
		frozen.second = func() { // the first call has looked for room in the key's segment, and now looks in another one
			moving.NS.Store(int64(time.Minute))
			done := make(chan struct{})
			wg.Go(func() {
				take()
				close(done)
			})
			select {
			case <-done:
			case <-time.After(time.Millisecond): // it needs the same segment
			}
		}
		take()
		wg.Wait()
		require.EqualValues(t, 10, granted.Load())
	}
}

// A readClock stands still. It calls second when it is read for the second time since reads was 0.
type readClock struct {
	kit.MovingClock
	reads  atomic.Int64
	second func()
}

func (c *readClock) Now() time.Time {
	if c.reads.Add(1) == 2 && c.second != nil {
		c.second()
	}
	return c.MovingClock.Now()
}

// A key that is reset in a full store has what is left of the allowance that new keys share, as
// Reset says.
func TestResetInAFullStore(t *testing.T) {
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Hour},
		weir.WithStore(&weir.MemStore{MaxKeys: 1}), weir.WithClock(clock.NewMock())))
	require.Equal(t, 6, kit.Take(t, l, "first", 4).Remaining)
	require.Equal(t, 3, kit.Take(t, l, "shares", 7).Remaining)
	for _, key := range []string{"shares", "first"} {
		require.NoError(t, l.Reset(t.Context(), key))
		assert.Equal(t, 3, kit.Take(t, l, key, 0).Remaining)
	}
}

// New keys share no allowance while a good part of the store is free or expired, however many come
// in a second.
func TestMemStoreWithExpiredKeysHasRoom(t *testing.T) {
	const maxKeys, lasting = 10_000, 5000
	clock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
	store := &weir.MemStore{MaxKeys: maxKeys}
	option := []weir.Option{weir.WithStore(store), weir.WithClock(clock)}
	long := weir.Must(weir.New(weir.TokenBucket{Limit: 2, Per: time.Hour}, append(option, weir.WithName("long"))...))
	for i := range lasting {
		require.True(t, long.Allow(strconv.Itoa(i)))
	}
	short := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 10 * time.Millisecond}, append(option, weir.WithName("short"))...))
	denied := 0
	for i := range runs.Long(1_000_000, 100_000) {
		clock.Time = clock.Add(100 * time.Microsecond) // so that 100 of them count at a time
		if !short.Allow(strconv.Itoa(i)) {
			denied++
		}
	}
	assert.Zero(t, denied)
}
