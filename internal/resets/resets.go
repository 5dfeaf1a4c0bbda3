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
// A key is kept only while a reservation from before its reset may still count. A reservation that
// is under way is not known yet. A reset that comes meanwhile may be of its key without being kept,
// or be dropped earlier. The reservation then counts as forgotten: it gives nothing back, rather
// than the events of others.
//
// The zero value is ready. All methods are safe for concurrent use.
type Resets struct {
	number atomic.Uint64 // of those there were
	open   atomic.Int64  // when nothing reserved counts any more

	mu   sync.Mutex       // guards writes to number, and what follows
	keys map[string]reset // the last of each key
	lost uint64           // the last that is not in keys, or no longer: it may be of any key
}

type reset struct {
	number uint64
	until  int64 // when nothing reserved before counts any more
}

// Number returns how many resets there were.
func (rs *Resets) Number() uint64 { return rs.number.Load() }

// Reserved records that something was reserved that counts until an instant. A later [Resets.Number]
// is that of the last reset that may have forgotten it. A reset is kept up to about a second longer
// than needed. What all callers share is then written once in a second, and not for each
// reservation.
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
	for old, r := range rs.keys {
		if r.until > now {
			break
		}
		rs.lost = max(rs.lost, r.number)
		delete(rs.keys, old)
	}
	number := rs.number.Add(1)
	open := rs.open.Load() // after number is written: callers of Reserved read it in the other order
	if open <= now {
		rs.lost = number
		return
	}
	if rs.keys == nil {
		rs.keys = make(map[string]reset)
	}
	rs.keys[strings.Clone(key)] = reset{number, open}
}

// Forgot reports whether the key may have been reset since the reset of that number.
func (rs *Resets) Forgot(key string, number uint64) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return max(rs.keys[key].number, rs.lost) > number
}

// Len returns how many keys are kept.
func (rs *Resets) Len() int {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return len(rs.keys)
}
