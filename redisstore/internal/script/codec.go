package script

import (
	"github.com/weir-go/weir"
)

// micro is a microsecond in nanoseconds: the scripts tell time in the former, deciders in the latter.
const micro = 1000

// A codec translates between a policy's decider and its script: what is asked, and the states.
//
// It has to know how the decider keeps its state in words. A plan checks that it does, see probe.
type codec interface {
	script(*scripts) *Script

	// ask returns the script's arguments for an ask, or false if the script can't do it.
	ask(weir.Ask) (string, bool)

	// seen returns the state that a reply tells, and what is to be asked of it, and when, for the answer.
	// The state is appended to buf, which is empty.
	seen(buf []uint64, reply reader, now int64, ask weir.Ask) ([]uint64, int64, weir.Ask, bool)

	// encode returns the value for a state that was left at the instant now, or false if the script
	// can't go on from it.
	encode(state []uint64, now int64) ([]byte, bool)

	// decode returns the state that a value holds, and an instant that it is not older than.
	decode(value reader) (state []uint64, latest int64, ok bool)

	// times is an ask that does what so many asks for one event do, one after the other at the same instant.
	times(n int) weir.Ask

	// first is the value after one event at the instant now.
	first(now int64) []byte
}

// lookOnly tells whether an ask changes nothing, whatever the state.
func lookOnly(ask weir.Ask, limit uint64) bool {
	return ask.N == 0 || ask.N > 0 && uint64(ask.N) > limit && ask.How == weir.AllOrNone
}

// timesUpTo is the times of policies that grant one event after the other as long as there is room.
func timesUpTo(n int) weir.Ask { return weir.Ask{N: n, How: weir.UpTo} }

// clampN is n, within what a script can compute with. It is for numbers of events that are bounded by
// a limit anyway.
func clampN(n int) int64 { return max(min(int64(n), maxHalf), -maxHalf) }

// countAsk is what the scripts of the windows are asked for: n, how, at.
func countAsk(ask weir.Ask, limit uint64) (n, how, at int64, ok bool) {
	if lookOnly(ask, limit) {
		return 0, 0, 0, true
	}
	if ask.How == weir.Regardless && int64(ask.N) > maxHalf {
		return 0, 0, 0, false
	}
	return clampN(ask.N), int64(ask.How), ask.GrantedAt / micro, true
}

// micros is a positive duration in microseconds, rounded up.
func micros(ns uint64) int64 { return int64((ns + micro - 1) / micro) }

// probe tells whether the codec reads and writes states as the decider keeps them. They come with
// different releases, in theory.
func probe(c codec, d weir.Decider) bool {
	const now = 1_700_000_000_123_457
	state, a := d.Decide(make([]uint64, d.Words()), now*micro, weir.Ask{N: 1})
	value, ok := c.encode(state, now)
	if !a.Allowed || !ok || string(value) != string(c.first(now)) {
		return false
	}
	again, _, ok := c.decode(read(string(value)))
	if !ok || d.Expiry(again) != d.Expiry(state) {
		return false
	}
	_, want := d.Decide(state, now*micro, weir.Ask{})
	_, got := d.Decide(again, now*micro, weir.Ask{})
	return got.Result == want.Result
}

// newCodec returns the codec of a policy, or nil if there is no script for it. Numbers that Lua would
// not hold exactly have none.
func newCodec(p weir.Policy, d weir.Decider) codec {
	var c codec
	ok := false
	switch p := p.(type) {
	case weir.TokenBucket:
		c, ok = newBucket(p.Limit, p.Per, orLimit(p.Burst, p.Limit), false, d.Words())
	case weir.LeakyBucket:
		c, ok = newBucket(p.Limit, p.Per, orLimit(p.Capacity, p.Limit), true, d.Words())
	case weir.FixedWindow:
		c, ok = newWindow(p, d.Words())
	case weir.SlidingWindow:
		c, ok = newSliding(p, d.Words())
	case weir.SlidingLog:
		c, ok = newLog(p)
	}
	if !ok || !probe(c, d) {
		return nil
	}
	return c
}

func orLimit(n, limit int) int {
	if n == 0 {
		return limit
	}
	return n
}
