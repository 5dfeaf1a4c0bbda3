package remote

import "github.com/weir-go/weir/redisstore/internal/script"

// merged is the additional data of a command that includes others with the same script and
// arguments.
type merged struct {
	others []*Command
	alone  *script.Script // the script for its own key
	key    [1]string
}

// Keys returns all keys of the command.
func (c *Command) Keys() []string {
	c.key[0] = c.Key
	keys := c.key[:]
	for _, other := range c.others {
		keys = append(keys, other.Key)
	}
	return keys
}

// A kind is equal for commands that can be sent as one.
type kind struct {
	script *script.Script
	args   [4]any
}

// merge combines the commands that differ in their key alone into one.
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

// part separates the commands that were merged into c, and returns them all.
func (c *Command) part() []*Command {
	all := append([]*Command{c}, c.others...)
	c.Script, c.InFull, c.merged = c.alone, false, merged{}
	return all
}

// divide gives each of the commands its part of the reply. It returns those that failed, to be sent
// again, each alone. In this way each gets its own reply, and the client sees the errors that it
// must know, such as that the server is no longer a master.
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
