// Package script decides next to the data, in Redis. It is what the stores of the clients have in
// common: the scripts and their arguments, the keys and the values, and what answers follow.
//
// The five policies of package weir run as a script each: one key, one round trip. The script keeps
// the state in a form of its own, in which Lua's numbers are exact, and replies with the state as it
// found it. The [weir.Decider] then decides on that once more, for all that the answer tells; so
// there is one place for that arithmetic. What a script can't do, and any other policy, goes by
// reading the state, deciding, and replacing it if it is still the same.
package script

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
)

// A Script is a Lua script for one key, or for many.
type Script struct {
	Source string
	SHA    string // by which Redis knows it once it has seen it

	SourceArg, SHAArg any // the same, as arguments of a command

	Many *Script // does the same for many keys, by the same arguments, see [Part]; nil if there is none
}

func newScript(source string) *Script {
	s := &Script{Source: source, SourceArg: source}
	sum := sha1.Sum([]byte(s.Source))
	s.SHA = hex.EncodeToString(sum[:])
	s.SHAArg = s.SHA
	return s
}

//go:embed lua
var lua embed.FS

// scripts are all that there are, for one kind of clock.
type scripts struct {
	of         [kindText]*Script // by the kind of a policy
	read, swap *Script
}

func newScripts(clock string) *scripts {
	source := func(names ...string) (all string) {
		for _, name := range names {
			text, _ := lua.ReadFile("lua/" + name + ".lua")
			all += string(text)
		}
		return all
	}
	script := func(names ...string) *Script {
		s := newScript(source(clock) + source(names...))
		// Redis is called once for all of many keys, and reads its clock once.
		s.Many = newScript(source(clock) + "local function decide(KEYS)\n" + source(names...) + "end\n" + source("many"))
		return s
	}
	bucket, window := script("value", "bucket"), script("value", "window")
	return &scripts{
		of: [...]*Script{
			kindTokenBucket: bucket, kindLeakyBucket: bucket,
			kindFixedWindow: window, kindFromFirst: window,
			kindSlidingWindow: script("value", "sliding"),
			kindSlidingLog:    script("log"),
		},
		read: script("read"),
		swap: newScript(source(clock, "swap")), // what it writes is of one key
	}
}

var (
	real   = newScripts("real")
	driven = newScripts("driven")
)

// skew is by how much a state may be ahead of the clock before it is taken to have been left by a
// server whose clock was ahead, in microseconds. The scripts have the same.
const skew = 100_000

// maxExact bounds what Lua's numbers hold exactly. What is computed with stays below half of it, so that
// sums and quotients are exact as well.
const (
	maxExact = 1<<53 - 1
	maxHalf  = 1 << 52
)

// The first byte of a reply.
const (
	notDone = 0 // nothing was granted, or asked for
	done    = 1
	other   = 2 // the value is not one that the script can go on from; it follows the time
	failed  = 3 // in a part of a reply: there was an error, and nothing was counted
)
