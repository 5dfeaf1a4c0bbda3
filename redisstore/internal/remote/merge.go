package remote

import (
	"strings"

	"github.com/weir-go/weir/redisstore/internal/script"
)

// merged is what a command has in addition that stands for others of the same script and arguments.
type merged struct {
	others []*Command
	alone  *script.Script // the script for its own key
	keys   []string
	key    [1]string
}

// Keys are all that the command is for.
func (c *Command) Keys() []string {
	if c.others != nil {
		return c.keys
	}
	c.key[0] = c.Key
	return c.key[:]
}

// A kind is what commands have in common that can be sent as one.
type kind struct {
	script *script.Script
	args   [4]any
}

// merge has one command stand for all that differ in their key alone.
func (f *flight) merge() {
	rest := f.cmds[:0]
	for _, c := range f.cmds {
		if c.Script != nil && c.Script.Many != nil {
			k := kind{c.Script, c.Args}
			if first := f.kinds[k]; first != nil {
				first.add(c)
				continue
			}
			f.kinds[k] = c
		}
		rest = append(rest, c)
	}
	clear(f.kinds)
	clear(f.cmds[len(rest):])
	f.cmds = rest
}

func (c *Command) add(other *Command) {
	if c.others == nil {
		c.alone, c.Script = c.Script, c.Script.Many
		c.others, c.keys = make([]*Command, 0, MaxCalls), append(make([]string, 0, MaxCalls), c.Key)
	}
	c.others, c.keys = append(c.others, other), append(c.keys, other.Key)
}

// divide gives each of the commands what it came to.
func (c *Command) divide() {
	reply, err := c.Reply, c.Err
	if err == nil {
		c.Reply, reply, c.Err = script.Part(reply)
	}
	for _, other := range c.others {
		if other.Err = err; err == nil {
			other.Reply, reply, other.Err = script.Part(reply)
		}
	}
}

// refused tells whether the server has refused the command for its keys, which it looks at before it begins. One
// of them may be the reason: the user may not use it, or it belongs to another node.
func (c *Command) refused() bool {
	if c.Err == nil {
		return false
	}
	text := c.Err.Error()
	return strings.HasPrefix(text, "NOPERM") || strings.HasPrefix(text, "CROSSSLOT")
}

// part returns the commands that it stands for, to be sent each alone.
func (c *Command) part() []*Command {
	all := append([]*Command{c}, c.others...)
	c.Script, c.InFull, c.merged = c.alone, false, merged{}
	return all
}
