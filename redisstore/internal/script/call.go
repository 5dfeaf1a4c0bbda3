package script

import "github.com/weir-go/weir"

// A Call is a command for one key: a script, or DEL if there is no script. The client sends it
// once. If it may have been executed, the client does not send it again. EVALSHA comes first, then
// EVAL if the server does not know the script.
type Call struct {
	Script *Script
	Key    string
	Args   [4]any // strings; the first nil ends them

	one *plan // not nil if the call asks for one event, by that plan
}

// A Reply is the reply to a Call.
type Reply struct {
	Text string // what the script returned

	// Before is how many calls of the same command came before this one. See Call.Group.
	Before int
}

// A Group identifies calls that one command can stand for. It is comparable.
type Group struct {
	key  string
	plan *plan
}

// Group returns the group of a call, or false if it has none. Asks for one event of one key that
// arrive together are decided at the same instant. The script can therefore be asked for all of
// them at once, by Call.Times. Each caller knows the state before them, and how many of them came
// before its own. From these it knows the answer that it would have got alone.
func (c *Call) Group() (Group, bool) { return Group{c.Key, c.one}, c.one != nil }

// Times makes the command of a call stand for n calls of its group.
func (c *Call) Times(n int) {
	args, _ := c.one.codec.ask(c.one.times(n)) // scripts can always grant up to a number
	c.Args[1] = args
}

// times returns an ask with the effect of n asks for one event, one after another at the same
// instant.
func (p *plan) times(n int) weir.Ask {
	if p.head[0] == kindLeakyBucket { // after the first, the outlet is occupied
		n = min(n, 1)
	}
	return weir.Ask{N: n, Mode: weir.UpTo}
}

// Part returns the reply for the next key from the reply for many. ok is false if the key failed,
// and nothing was counted. A missing part is empty.
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
