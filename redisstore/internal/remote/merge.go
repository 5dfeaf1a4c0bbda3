package remote

import "github.com/weir-go/weir/redisstore/internal/script"

// merged is what a command has in addition that stands for others of the same script and arguments.
type merged struct {
	others []*Command
	alone  *script.Script // the script for its own key
	key    [1]string
}

// Keys are all that the command is for.
func (c *Command) Keys() []string {
	c.key[0] = c.Key
	keys := c.key[:]
	for _, other := range c.others {
		keys = append(keys, other.Key)
	}
	return keys
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
				first.alone, first.Script = k.script, k.script.Many
				first.others = append(first.others, c)
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

// part makes each of the commands one of its own again, and returns them.
func (c *Command) part() []*Command {
	all := append([]*Command{c}, c.others...)
	c.Script, c.InFull, c.merged = c.alone, false, merged{}
	return all
}

// divide gives each of the commands what it came to, and returns those that failed, to be sent again: so they come
// to the same as if they had been sent alone, and the client sees what it must know, such as that the server
// is no master any more.
func (c *Command) divide() (failed []*Command) {
	reply, err := c.Reply, c.Err
	for _, cmd := range c.part() {
		cmd.Err = err
		if err != nil {
			continue
		}
		var ok bool
		if cmd.Reply, reply, ok = script.Part(reply); !ok {
			failed = append(failed, cmd)
		}
	}
	return failed
}
