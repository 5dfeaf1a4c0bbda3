package edge

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// maxHeld bounds the number of keys that are held back. It thereby bounds the memory of a crawler
// that calls a server with many names.
const maxHeld = 1 << 16

// holds are the keys that are held back. The zero value is ready for use.
type holds struct {
	mu    sync.Mutex
	until map[string]held
	sweep int // the number of keys at which the next clean is due
}

// held is the time until which a key is held back.
type held struct {
	time.Time
	released chan struct{} // closed if the hold is ended before
}

// hold holds key back for d from now, unless it is already held back for longer.
func (h *holds) hold(key string, now time.Time, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	until := now.Add(d)
	if old, ok := h.until[key]; ok {
		if until.After(old.Time) {
			h.until[key] = held{until, old.released}
		}
		return
	}
	if len(h.until) >= h.sweep {
		h.clean(now)
	}
	if h.until == nil {
		h.until = make(map[string]held)
	}
	h.until[strings.Clone(key)] = held{until, make(chan struct{})}
}

// clean removes the keys whose hold has ended, and doubles the number at which it is next called.
// Its cost is therefore constant for each key. If there are maxHeld keys, it looks at a few only,
// and removes the one whose hold ends first even if it has not ended.
func (h *holds) clean(now time.Time) {
	look := len(h.until)
	if look >= maxHeld {
		look = 64 // where the iteration starts is random
	}
	var first string
	for key, until := range h.until {
		if look--; look < 0 {
			break
		}
		if !until.After(now) {
			delete(h.until, key)
		} else if first == "" || until.Before(h.until[first].Time) {
			first = key
		}
	}
	if len(h.until) >= maxHeld {
		close(h.until[first].released)
		delete(h.until, first)
	}
	h.sweep = min(max(2*len(h.until), 64), maxHeld)
}

// find returns the time until which key is held back, and a channel that is closed if the hold ends
// before. It returns the zero Time if key is not held back.
func (h *holds) find(key string) (until time.Time, released <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, ok := h.until[key]
	if !ok {
		return time.Time{}, nil
	}
	if time.Until(found.Time) <= 0 {
		delete(h.until, key)
		return time.Time{}, nil
	}
	return found.Time, found.released
}

// left returns how long key is still held back.
func (h *holds) left(key string) time.Duration {
	until, _ := h.find(key)
	return max(time.Until(until), 0)
}

// release ends the hold of key.
func (h *holds) release(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if found, ok := h.until[key]; ok {
		close(found.released)
		delete(h.until, key)
	}
}

// wait returns when key is no longer held back. It returns weir.ErrTooLate at once if that would be
// after the deadline of ctx.
func (h *holds) wait(ctx context.Context, key string) error {
	for {
		until, released := h.find(key)
		left := time.Until(until)
		if left <= 0 {
			return nil
		}
		if err := inTime(ctx, left); err != nil {
			return err
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-released:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// inTime returns weir.ErrTooLate if key is held back until after the deadline of ctx.
func (h *holds) inTime(ctx context.Context, key string) error { return inTime(ctx, h.left(key)) }

func inTime(ctx context.Context, left time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < left {
		return weir.ErrTooLate
	}
	return nil
}
