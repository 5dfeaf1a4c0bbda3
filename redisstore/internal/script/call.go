package script

import (
	"time"

	"github.com/weir-go/weir"
)

// A Call is a command for one key: a script, or, without one, DEL. The client sends it once, and not
// again if it may have been executed. EVALSHA is tried first, and EVAL if the server does not know
// the script.
type Call struct {
	Script *Script
	Key    string
	Args   [4]any // strings; those from the first nil on are none

	Within time.Duration // it is waited for; 0 for the whole time that a decision may take

	one *plan // not nil if the call asks for one event, by that plan
}

// A Reply is what a Call came to.
type Reply struct {
	Text string // what the script returned

	// Before is how many of the calls that the command stood for came before this one. See Call.Group.
	Before int
}

// A Group is of calls that one command can stand for. It is comparable.
type Group struct {
	key  string
	plan *plan
}

// Group returns the group of a call, or false if it has none. Asks for one event of one key, which arrive
// together, are decided on at the same instant. So the script may as well be asked for all of
// them at once, by Call.Times, and each caller knows from the state as it was before them, and
// from how many of them came before its own, what it would have been answered alone.
func (c *Call) Group() (Group, bool) { return Group{c.Key, c.one}, c.one != nil }

// Times has the command of a call stand for n of its group.
func (c *Call) Times(n int) {
	args, _ := c.one.codec.ask(c.one.times(n)) // scripts can always grant up to a number
	c.Args[1] = args
}

// times is an ask that does what n asks for one event do, one after the other at the same instant.
func (p *plan) times(n int) weir.Ask {
	if p.head[0] == kindLeakyBucket { // after the first, the outlet is not free
		n = min(n, 1)
	}
	return weir.Ask{N: n, How: weir.UpTo}
}

// Part takes the reply for the next key from one for many. ok is false if there was an error instead, and so nothing
// was counted. A part that is missing is empty.
func Part(reply string) (part, rest string, ok bool) {
	r := read(reply)
	part = r.take(r.uint(4))
	switch {
	case !r.ok:
		return "", "", true
	case part != "" && part[0] == failed:
		return "", r.s, false
	}
	return part, r.s, true
}
