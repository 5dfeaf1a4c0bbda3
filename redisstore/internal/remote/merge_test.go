package remote

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/redisstore/internal/script"
)

// Two scripts that a mergeTest sends. A third can only be sent for one key.
var (
	red  = &script.Script{SHA: "red", Many: &script.Script{SHA: "many red"}}
	blue = &script.Script{SHA: "blue", Many: &script.Script{SHA: "many blue"}}
	one  = &script.Script{SHA: "one"}
)

// A mergeTest has a store for a single server, and answers what it sends.
type mergeTest struct {
	*testing.T
	answer func(*Command) // sets what a command comes to, if it is not the usual

	gate chan struct{}
	sent [][]string // a command each, as "script: key…", by flight
}

func (x *mergeTest) send(_ context.Context, cmds []*Command) {
	<-x.gate
	var all []string
	for _, c := range cmds {
		name := "DEL"
		if c.Script != nil {
			name = c.Script.SHA
		}
		if c.InFull {
			name += " in full"
		}
		all = append(all, name+": "+strings.Join(c.Keys(), " "))
		c.Reply, c.Err, c.Unknown, c.Refused = "", nil, false, false
		for _, key := range c.Keys() {
			if len(c.Keys()) > 1 {
				c.Reply += string(binary.BigEndian.AppendUint32(nil, uint32(len(key))))
			}
			c.Reply += key
		}
		x.answer(c)
	}
	x.sent = append(x.sent, all)
}

// run sends the calls in one flight, behind another one, and returns what they came to: the reply,
// or the error.
func (x *mergeTest) run(calls ...script.Call) (got []string) {
	synctest.Test(x.T, func(t *testing.T) {
		s, err := New(Driver{Package: "test", Client: 1, Send: x.send, Pipelines: true}, Config{SingleServer: true})
		require.NoError(t, err)
		s.queue.maxFlights = 1
		got, x.sent, x.gate = make([]string, len(calls)), nil, make(chan struct{})
		send := func(call script.Call) string {
			reply, err := s.send(t.Context(), call)
			if err != nil {
				return err.Error()
			}
			return reply.Text
		}
		go send(script.Call{Script: one, Key: "ahead"})
		synctest.Wait()
		for i, call := range calls {
			go func() { got[i] = send(call) }()
			synctest.Wait()
		}
		close(x.gate)
		synctest.Wait()
		require.Equal(t, []string{"one: ahead"}, x.sent[0])
		x.sent = x.sent[1:]
	})
	return got
}

// fail has a command come to an error of the server.
func (x *mergeTest) fail(c *Command, text string) {
	c.Set("", errors.New(text), func(word string) bool { return strings.HasPrefix(text, word) })
}

func callOf(s *script.Script, key string, args ...any) script.Call {
	c := script.Call{Script: s, Key: key}
	copy(c.Args[:], args)
	return c
}

func usual(*Command) {}

// Commands that differ in their key alone are sent as one, and each call gets its own part of the
// reply.
func TestCommandsAreMerged(t *testing.T) {
	x := &mergeTest{T: t, answer: usual}
	got := x.run(
		callOf(red, "a", "x", "1"), callOf(one, "o1"), callOf(red, "b", "x", "1"), callOf(blue, "c", "x", "1"),
		callOf(red, "d", "x", "2"), callOf(red, "e", "x", "1"), callOf(one, "o2"), callOf(nil, "n1"), callOf(nil, "n2"),
		callOf(blue, "f", "x", "1"), callOf(red, "a", "x", "1"),
	)
	assert.Equal(t, []string{"a", "o1", "b", "c", "d", "e", "o2", "n1", "n2", "f", "a"}, got)
	assert.Equal(t, [][]string{{
		"many red: a b e a", "one: o1", "many blue: c f", "red: d", "one: o2", "DEL: n1", "DEL: n2",
	}}, x.sent)
}

func TestMergedCommandIsSentInFull(t *testing.T) {
	x := &mergeTest{T: t}
	x.answer = func(c *Command) {
		if !c.InFull && c.Script == red.Many {
			x.fail(c, "NOSCRIPT No matching script")
		}
	}
	got := x.run(callOf(red, "a"), callOf(blue, "b"), callOf(red, "c"))
	assert.Equal(t, []string{"a", "b", "c"}, got)
	assert.Equal(t, [][]string{{"many red: a c", "blue: b"}, {"many red in full: a c"}}, x.sent)
}

// If the client may not use one of the keys of a command, the server refuses the command before it
// executes any of it. Each key is then tried by itself.
func TestRefusedCommandIsParted(t *testing.T) {
	for _, refusal := range []string{
		"NOPERM this user has no permissions to access one of the keys used as arguments",
		"CROSSSLOT Keys in request don't hash to the same slot",
	} {
		for _, known := range []bool{true, false} {
			x := &mergeTest{T: t}
			x.answer = func(c *Command) {
				switch {
				case slices.Contains(c.Keys(), "foreign"):
					x.fail(c, refusal)
				case !known && !c.InFull && c.Script != one:
					x.fail(c, "NOSCRIPT No matching script")
				}
			}
			got := x.run(callOf(red, "a"), callOf(red, "foreign"), callOf(red, "b"), callOf(blue, "foreign"), callOf(blue, "c"))
			assert.Equal(t, []string{"a", refusal, "b", refusal, "c"}, got)
			want := [][]string{
				{"many red: a foreign b", "many blue: foreign c"},
				{"red: a", "red: foreign", "red: b", "blue: foreign", "blue: c"},
			}
			if !known {
				want = append(want, []string{"red in full: a", "red in full: b", "blue in full: c"})
			}
			assert.Equal(t, want, x.sent)
		}
	}
}

// After any other error it is not known whether the command was executed. Each caller gets that
// error.
func TestErrorOfAMergedCommandIsThatOfAll(t *testing.T) {
	for _, text := range []string{"EOF", "LOADING Redis is loading the dataset in memory", "OOM NOPERM"} {
		x := &mergeTest{T: t}
		x.answer = func(c *Command) { x.fail(c, text) }
		got := x.run(callOf(red, "a"), callOf(red, "b"), callOf(red, "c"))
		assert.Equal(t, []string{text, text, text}, got)
		assert.Len(t, x.sent, 1, "it is not sent again")
	}
}

// If a command fails for one of its keys, it is sent again for that key alone. Nothing was counted
// for the key, and its caller gets the error that it would have got alone. If the reply lacks a
// key, that key may have been counted, and is not sent again.
func TestFailedPartIsSentAlone(t *testing.T) {
	for _, failing := range []string{"a", "b"} {
		x := &mergeTest{T: t}
		x.answer = func(c *Command) {
			switch {
			case len(c.Keys()) > 1:
				c.Reply = strings.Replace("\x00\x00\x00\x01a\x00\x00\x00\x01b\x00\x00\x00\x09", failing, "\x03", 1)
			case c.Key == failing:
				x.fail(c, "MISCONF")
			}
		}
		got := x.run(callOf(red, "a"), callOf(red, "b"), callOf(red, "c"))
		want := map[string][]string{"a": {"MISCONF", "b", ""}, "b": {"a", "MISCONF", ""}}[failing]
		assert.Equal(t, want, got)
		assert.Equal(t, [][]string{{"many red: a b c"}, {"red: " + failing}}, x.sent)
	}
}

// After a command that was sent in full, its parts are sent by their hash, because the client may
// not be allowed more.
func TestPartsAreSentByHash(t *testing.T) {
	x := &mergeTest{T: t}
	x.answer = func(c *Command) {
		switch {
		case c.InFull:
			x.fail(c, "NOPERM this user has no permissions to run the 'eval' command")
		case c.Script == red.Many:
			x.fail(c, "NOSCRIPT No matching script")
		}
	}
	assert.Equal(t, []string{"a", "b"}, x.run(callOf(red, "a"), callOf(red, "b")))
	assert.Equal(t, [][]string{{"many red: a b"}, {"many red in full: a b"}, {"red: a", "red: b"}}, x.sent)
}

// Each flight is merged by itself.
func TestFlightsAreMergedByThemselves(t *testing.T) {
	x := &mergeTest{T: t, answer: usual}
	var calls []script.Call
	for i := range MaxCalls + 2 {
		calls = append(calls, callOf(red, fmt.Sprint(i)))
	}
	x.run(calls...)
	require.Len(t, x.sent, 2)
	assert.Equal(t, []string{fmt.Sprintf("many red: %d %d", MaxCalls, MaxCalls+1)}, x.sent[1])
}

// As many are sent as one as there may be in a flight.
func TestManyAreMerged(t *testing.T) {
	x := &mergeTest{T: t, answer: usual}
	var calls []script.Call
	var keys []string
	for i := range MaxCalls {
		keys = append(keys, fmt.Sprint("k", i))
		calls = append(calls, callOf(red, keys[i]))
	}
	assert.Equal(t, keys, x.run(calls...))
	assert.Equal(t, [][]string{{"many red: " + strings.Join(keys, " ")}}, x.sent)
}
