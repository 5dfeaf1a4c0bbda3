package script

import "errors"

// newMany returns the script that decides on many keys at once, by the same arguments for each. Redis is
// called once for all of them, and reads its clock once.
func newMany(clock, body string) *Script {
	return newScript(clock, "local function decide(KEYS)\n"+body+"end\n"+manyEnd)
}

// failed is the first byte of a part that is an error.
const failed = 3

// Part takes the reply for the next key from one for many. An error is that of its decision alone, in the words
// of the server, or that there is no such part.
func Part(reply string) (part, rest string, err error) {
	r := read(reply)
	size := r.uint(4)
	rest = r.s
	r.skip(size)
	if !r.ok {
		return "", "", errReply
	}
	part, rest = rest[:size], r.s
	if part != "" && part[0] == failed {
		return "", rest, errors.New(part[1:])
	}
	return part, rest, nil
}
