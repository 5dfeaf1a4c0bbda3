package script

// newMany returns the script that decides on many keys at once, by the same arguments for each. Redis is
// called once for all of them, and reads its clock once.
func newMany(clock, body string) *Script {
	return newScript(clock, "local function decide(KEYS)\n"+body+"end\n"+manyEnd)
}

// failed is the first byte of a part where there was an error, and nothing was counted.
const failed = 3

// Part takes the reply for the next key from one for many. ok is false if there was an error instead, and so nothing
// was counted. A part that is missing is empty.
func Part(reply string) (part, rest string, ok bool) {
	r := read(reply)
	size := r.uint(4)
	rest = r.s
	if r.skip(size); !r.ok {
		return "", "", true
	}
	part, rest = rest[:size], r.s
	if part != "" && part[0] == failed {
		return "", rest, false
	}
	return part, rest, true
}
