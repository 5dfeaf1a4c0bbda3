// Package resets knows which keys were reset while something that was reserved before may still
// count. It knows no limiter and no store: instants and numbers of resets go in.
package resets

import (
	"strings"
	"sync"
	"sync/atomic"
)

// Resets are the keys of a limiter that were reset. Reservations that a reset forgot have nothing
// to give back. Events that a key has counted since its reset were granted to others, even where
// the numbers look the same.
//
// A key is kept as long as a reservation from before its reset may still count. After that, a later
// reset drops it. If there are resets all the time, this is after twice that time at most. A
// reservation that is being made is not known yet. If its key is reset meanwhile, that reset may
// not be kept, or be dropped earlier. The reservation then counts as forgotten: it gives nothing
// back, rather than the events of others.
//
// The zero value is ready. All methods are safe for concurrent use.
type Resets struct {
	number atomic.Uint64 // of those there were
	open   atomic.Int64  // when nothing reserved counts any more

	mu   sync.Mutex   // guards writes to number, and what follows
	lost uint64       // the last reset that is not kept, or no longer: it may be of any key
	kept *generations // nil while none is kept
}

// Resets are dropped a generation at a time. This takes no longer if there are many, and frees
// their memory.
type (
	generations struct{ old, young generation }

	generation struct {
		keys  map[string]uint64 // the number of the last reset of each key
		last  uint64            // the number of the last reset
		until int64             // when nothing reserved before the last reset counts any more
	}
)

// Number returns how many resets there were.
func (rs *Resets) Number() uint64 { return rs.number.Load() }

// Reserved records that something was reserved that counts until an instant. A later
// [Resets.Number] is that of the last reset that may have forgotten it. A reset is kept up to about
// a second longer than needed. What all callers share is then written about once a second, and not
// for each reservation.
func (rs *Resets) Reserved(until int64) {
	for open := rs.open.Load(); open < until && !rs.open.CompareAndSwap(open, until|(1<<30-1)); {
		open = rs.open.Load()
	}
}

// Reset records that a key was reset before the instant now. It must be called after the store was
// asked: what was reserved until then has a lower number.
func (rs *Resets) Reset(key string, now int64) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	number := rs.number.Add(1)
	open := rs.open.Load() // after number is written: callers of Reserved read it in the other order
	if open <= now {
		rs.lost, rs.kept = number, nil
		return
	}
	if rs.kept == nil {
		rs.kept = new(generations)
	}
	k := rs.kept
	for range 2 { // the first turn may make the young one old
		if k.old.until <= now {
			rs.lost = max(rs.lost, k.old.last)
			k.old, k.young = k.young, generation{}
		}
	}
	if k.young.keys == nil {
		k.young.keys = make(map[string]uint64)
	}
	k.young.keys[strings.Clone(key)] = number
	k.young.last, k.young.until = number, open
}

// Forgot reports whether the key may have been reset since the reset of that number.
func (rs *Resets) Forgot(key string, number uint64) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	last := rs.lost
	if k := rs.kept; k != nil {
		last = max(last, k.old.keys[key], k.young.keys[key])
	}
	return last > number
}

// Len returns how many keys are kept. A key that is in both generations counts twice.
func (rs *Resets) Len() int {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.kept == nil {
		return 0
	}
	return len(rs.kept.old.keys) + len(rs.kept.young.keys)
}
