package weir

import (
	"strings"
	"sync"
)

// resets are the keys that were reset. Reservations that a reset forgot have nothing to give back.
// What a key has counted since was granted to others, even where it looks the same.
//
// A key is kept only while a reservation from before its reset may still count.
type resets struct {
	mu     sync.Mutex
	number uint64           // of those there were
	open   int64            // when nothing reserved counts any more, by the limiter's clock
	keys   map[string]reset // the last of each key
}

type reset struct {
	number uint64
	until  int64 // when nothing reserved before counts any more
}

// reserved records what was reserved at an instant, if anything. It returns the number of the last
// reset before it.
func (rs *resets) reserved(at int64, charges []Charge) uint64 {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, c := range charges {
		rs.open = max(rs.open, c.until(at))
	}
	return rs.number
}

// reset records that a key is reset at the instant now. It is called before the store is asked,
// because an error may hide that the key was reset.
func (rs *resets) reset(key string, now int64) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for old, r := range rs.keys {
		if r.until > now {
			break
		}
		delete(rs.keys, old)
	}
	if rs.open <= now {
		return
	}
	if rs.keys == nil {
		rs.keys = make(map[string]reset)
	}
	rs.number++
	rs.keys[strings.Clone(key)] = reset{rs.number, rs.open}
}

// forgot reports whether the key was reset since the reset of that number.
func (rs *resets) forgot(key string, number uint64) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.keys[key].number > number
}
