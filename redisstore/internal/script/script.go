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
	_ "embed"
	"encoding/hex"
)

// A Script is a Lua script for one key, or for many.
type Script struct {
	Source string
	SHA    string // by which Redis knows it once it has seen it

	SourceArg, SHAArg any // the same, as arguments of a command

	Many *Script // does the same for many keys, see [Part]; nil if there is none
}

func newScript(clock, body string) *Script {
	s := &Script{Source: clock + body}
	sum := sha1.Sum([]byte(s.Source))
	s.SHA = hex.EncodeToString(sum[:])
	s.SourceArg, s.SHAArg = s.Source, s.SHA
	return s
}

var (
	//go:embed lua/real.lua
	realClock string
	//go:embed lua/driven.lua
	drivenClock string

	//go:embed lua/bucket.lua
	bucketBody string
	//go:embed lua/window.lua
	windowBody string
	//go:embed lua/sliding.lua
	slidingBody string
	//go:embed lua/log.lua
	logBody string
	//go:embed lua/read.lua
	readBody string
	//go:embed lua/swap.lua
	swapBody string

	//go:embed lua/many.lua
	manyEnd string
)

// scripts are all that there are, for one kind of clock.
type scripts struct{ bucket, window, sliding, log, read, swap *Script }

func newScripts(clock string) *scripts {
	both := func(body string) *Script {
		s := newScript(clock, body)
		s.Many = newMany(clock, body)
		return s
	}
	return &scripts{
		bucket:  both(bucketBody),
		window:  both(windowBody),
		sliding: both(slidingBody),
		log:     both(logBody),
		read:    both(readBody),
		swap:    newScript(clock, swapBody), // what it writes is of one key
	}
}

var (
	real   = newScripts(realClock)
	driven = newScripts(drivenClock)
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
)
