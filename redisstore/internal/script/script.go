// Package script decides next to the data, in Redis. It is the common part of the stores of all
// clients: the scripts and their arguments, the keys and the values, and the answers.
//
// Five policies of package weir have a script: one key, one round trip. A script keeps the state in
// its own form, in which Lua's numbers are exact. It replies with the state as it found it, or with
// what matters of it. The [weir.Decider] then decides on that once more, for the complete answer.
// That arithmetic is therefore in one place. For all else, package casstore reads the state,
// decides, and replaces the state if it is still the same: other policies, numbers and asks that a
// script can't compute with, and states of other policies.
package script

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
)

// A Script is a Lua script for one key, or for many.
type Script struct {
	Source string
	SHA    string // the hash by which Redis knows the script after its first use

	SourceArg, SHAArg any // the same, as arguments of a command

	Many *Script // the same script for many keys and the same arguments, see [Part]; nil if there is none
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

// scripts are all scripts for one kind of clock.
type scripts struct {
	of         [kindSwapped]*Script // by the kind of a policy
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
		// Redis runs the script for many keys once, and reads its clock once.
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
		swap: newScript(source(clock, "swap")), // it writes one key only
	}
}

var (
	real   = newScripts("real")
	driven = newScripts("driven")
)

// skew is how far a state may be ahead of the clock, in microseconds. If it is further ahead, a
// server whose clock was ahead left it. The scripts have the same number.
const skew = 100_000

// maxExact bounds the numbers that Lua holds exactly. Operands stay below half of it, so that sums
// and quotients are exact as well.
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
