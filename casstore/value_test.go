package casstore_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// All faults come at once, from New and from each decision.
func TestFaults(t *testing.T) {
	s := casstore.New(nil, casstore.Options{Timeout: -1})
	_, err := weir.New(wide, weir.WithStore(s))
	assert.ErrorContains(t, err, "nil Register")
	assert.ErrorContains(t, err, "Timeout is -1ns, must be at least 0")
	_, err = s.Do(t.Context(), weir.Request{})
	assert.ErrorContains(t, err, "nil Register")

	_, err = weir.New(wide, weir.WithStore(casstore.New(newMemory(), casstore.Options{})))
	assert.EqualError(t, err, "weir: a limiter on a store that processes share has no name, must have one: "+
		"set WithName, such as WithName(\"login\"), or WithName(\"\") if it is the only one")
}

// A key's value is what a Register is given: a state says its policy, and until when it counts.
func TestValues(t *testing.T) {
	m := newMemory()
	s := casstore.New(m, casstore.Options{Key: func(name, key string) string { return name + "|" + key }})
	now := time.Unix(1_700_000_000, 1)
	l := newLimiter(t, s, weir.FixedWindow{Limit: 5, Per: time.Minute, FromFirst: true}, weir.WithName("n"), weir.WithClock(stopped(now)))
	take(t, l, 2)
	value := m.values["n|k"].Value
	assert.True(t, bytes.Contains(value, []byte("fixed-window 5/1m from-first")), "%q", value)
	assert.Equal(t, time.Minute+5*time.Second, m.keeps["n|k"])
	p, words, ok := s.DecodeState(value)
	require.True(t, ok)
	assert.Equal(t, weir.FixedWindow{Limit: 5, Per: time.Minute, FromFirst: true}, p)
	again, err := s.EncodeState(p, words)
	require.NoError(t, err)
	_, wordsAgain, ok := s.DecodeState(again)
	assert.True(t, ok)
	assert.Equal(t, words, wordsAgain)
	_, err = s.EncodeState(p, append(words, 1, 2, 3))
	assert.ErrorIs(t, err, weir.ErrRequest)
	for _, p := range []weir.Policy{nil, (*weir.FixedWindow)(nil)} {
		_, err = s.EncodeState(p, words)
		require.ErrorContains(t, err, "must be one")
	}
	_, err = s.EncodeState(weir.FixedWindow{}, words)
	assert.ErrorContains(t, err, "Limit")

	// another policy: the value is of both, until one is left
	other := newLimiter(t, s, weir.SlidingLog{Limit: 10, Per: time.Hour}, weir.WithName("n"), weir.WithClock(stopped(now)))
	assert.Equal(t, 5, take(t, other, 1).Remaining)
	_, _, ok = s.DecodeState(m.values["n|k"].Value)
	assert.False(t, ok)
	assert.Equal(t, time.Hour+5*time.Second, m.keeps["n|k"])

	// what is given back at once leaves nothing, and is kept for as short as can be
	require.NoError(t, other.Reset(t.Context(), "k"))
	take(t, l, 2)
	require.NoError(t, l.Return(t.Context(), "k", 2))
	assert.Equal(t, time.Millisecond+5*time.Second, m.keeps["n|k"])
	assert.Equal(t, 4, take(t, l, 1).Remaining)
}

// R7: what is given back to a new key changes nothing, also for a process whose clock is behind.
func TestR7_GiveBackToANewKey(t *testing.T) {
	m := newMemory()
	now := time.Unix(1_700_000_000, 0)
	for _, p := range modeled {
		ahead := newLimiter(t, casstore.New(m, casstore.Options{Timeout: time.Hour}), p, weir.WithName("n"), weir.WithClock(stopped(now.Add(time.Second))))
		require.NoError(t, ahead.Return(t.Context(), "k", 2))
		assert.Empty(t, m.values)
		late := newLimiter(t, casstore.New(m, casstore.Options{Timeout: time.Hour}), p, weir.WithName("n"), weir.WithClock(stopped(now)))
		assert.Equal(t, 40, take(t, late, 0).Remaining)
	}
}

type stopped time.Time

func (s stopped) Now() time.Time { return time.Time(s) }

func (stopped) After(time.Duration) <-chan time.Time { return nil }
