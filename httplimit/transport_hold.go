package httplimit

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// maxHeld bounds the number of keys that are held back. It also bounds the memory of a crawler that
// calls a server with many names.
const maxHeld = 1 << 16

// holds are the keys that are held back. The zero value is ready for use.
type holds struct {
	mu    sync.Mutex
	until map[string]time.Time
	sweep int // the number of keys at which the next clean is due
}

// hold holds key back for d from now, unless it is already held back for longer.
func (h *holds) hold(key string, now time.Time, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	until := now.Add(d)
	if old, ok := h.until[key]; ok {
		if until.After(old) {
			h.until[key] = until
		}
		return
	}
	if len(h.until) >= h.sweep {
		h.clean(now)
	}
	if h.until == nil {
		h.until = make(map[string]time.Time)
	}
	h.until[strings.Clone(key)] = until
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
		} else if first == "" || until.Before(h.until[first]) {
			first = key
		}
	}
	if len(h.until) >= maxHeld {
		delete(h.until, first)
	}
	h.sweep = min(max(2*len(h.until), 64), maxHeld)
}

// left returns how long key is still held back.
func (h *holds) left(key string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	until, ok := h.until[key]
	if !ok {
		return 0
	}
	left := time.Until(until)
	if left <= 0 {
		delete(h.until, key)
		return 0
	}
	return left
}

// wait returns when key is no longer held back. It returns weir.ErrTooLate at once if that would be
// after the deadline of ctx.
func (h *holds) wait(ctx context.Context, key string) error {
	for {
		left := h.left(key)
		if left == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < left {
			return weir.ErrTooLate
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// retryAfter returns how long after now the Retry-After of an answer is, or 0 if it has none. The
// field contains seconds or a date. A date is by the server's clock, and is compared with the Date
// of the answer, if it has one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.Trim(h.Get("Retry-After"), " \t")
	if value != "" && strings.Trim(value, "0123456789") == "" {
		s, err := strconv.ParseInt(value, 10, 64)
		if err != nil || s > math.MaxInt64/int64(time.Second) { // more than an int64 holds
			return math.MaxInt64
		}
		return time.Duration(s) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(at.Sub(now), 0)
}
