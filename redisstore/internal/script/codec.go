package script

import (
	"cmp"

	"github.com/weir-go/weir"
)

// micro is a microsecond in nanoseconds. Scripts count in microseconds, deciders in nanoseconds.
const micro = 1000

// A codec translates between a policy's decider and its script, both asks and states.
//
// It knows how the decider keeps its state in words. That is the same in all releases, because such
// words are kept in Redis, too.
type codec interface {
	// ask returns the script's arguments for an ask, or false if the script can't do it.
	ask(weir.Ask) (string, bool)

	// encode returns the value for a state that was left at the instant now, or false if the script
	// can't go on from it.
	encode(state []uint64, now int64) ([]byte, bool)

	// decode returns the state in a value, or in a reply of any script except the log's, and an
	// instant. The state is not older than the instant. The state is appended to buf, which is
	// empty.
	decode(buf []uint64, value reader) (state []uint64, latest int64, ok bool)
}

// lookOnly reports whether an ask changes nothing, whatever the state.
func lookOnly(ask weir.Ask, limit uint64) bool {
	return ask.N == 0 || ask.N > 0 && uint64(ask.N) > limit && ask.Mode == weir.AllOrNone
}

// clampN returns n, limited to numbers that a script can compute with. It is for numbers of events
// that a limit bounds anyway.
func clampN(n int) int64 { return max(min(int64(n), maxHalf), -maxHalf) }

// countAsk returns the arguments of the scripts of the windows: n, how, after.
func countAsk(ask weir.Ask, limit uint64) (n, how, after int64, ok bool) {
	if lookOnly(ask, limit) {
		return 0, 0, 0, true
	}
	if ask.Mode == weir.Regardless && int64(ask.N) > maxHalf {
		return 0, 0, 0, false
	}
	if ask.GrantedAt != 0 { // a grant of the first microsecond is known, too
		after = ask.CountedAt()/micro + 1
	}
	return clampN(ask.N), int64(ask.Mode), after, true
}

// micros returns a positive duration in microseconds, rounded up.
func micros(ns uint64) int64 { return int64((ns + micro - 1) / micro) }

// newCodec returns the codec of a policy, or nil if there is no script for it. There is none if Lua
// cannot hold the policy's numbers exactly.
func newCodec(p weir.Policy, d weir.Decider) codec {
	var c codec
	ok := false
	switch p := p.(type) {
	case weir.TokenBucket:
		c, ok = newBucket(p.Limit, p.Per, cmp.Or(p.Burst, p.Limit), false, d)
	case weir.LeakyBucket:
		c, ok = newBucket(p.Limit, p.Per, cmp.Or(p.Capacity, p.Limit), true, d)
	case weir.FixedWindow:
		c, ok = newWindow(p, d.Words())
	case weir.SlidingWindow:
		c, ok = newSliding(p, d.Words())
	case weir.SlidingLog:
		c, ok = newLog(p)
	}
	if !ok {
		return nil
	}
	return c
}
