package fleet

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// A health is what a Fallback knows of its first store. All instants are of [realTime].
//
// A call that fails is an outage, unless first has granted a call that began within the last
// budget. One lost connection of many, or one late answer, therefore costs only the calls that it
// hits. If the store hangs or is gone, its last grant is soon too old.
type health struct {
	budget, coolDown time.Duration
	report           func(error)

	// restUntil is 0, or in an outage the instant from which on a request may try first. While a
	// request tries first, it is the last instant that there is.
	restUntil atomic.Int64

	granted  atomic.Int64 // when the last call began that first has granted
	troubled atomic.Int64 // 0, or after a failure, the instant from which on a grant ends the trouble

	mu      sync.Mutex // held while troubled changes, so that news is told in order
	quiet   int64      // until then no failure is reported, except one of a request that tries first
	telling bool       // Report is running
	more    bool       // there was news meanwhile
	latest  error      // of that news
}

// admit reports whether first may be asked at now, and whether that is to try if it is back.
func (h *health) admit(now int64) (try, ok bool) {
	until := h.restUntil.Load()
	if until == 0 {
		return false, true
	}
	try = now >= until && h.restUntil.CompareAndSwap(until, math.MaxInt64)
	return try, try
}

// judge draws the conclusion from a call of first that began at an instant, and that ended with err
// or has written something. It returns an error if Report panics.
func (h *health) judge(began int64, try, wrote bool, err error) error {
	switch {
	case errors.Is(err, weir.ErrRequest) || err == nil && !wrote:
		// This proves nothing: the request may not even have reached the server. Another may try at
		// once.
		if try {
			h.restUntil.Store(1)
		}
		return nil
	case err == nil:
		for last := h.granted.Load(); began > last && !h.granted.CompareAndSwap(last, began); {
			last = h.granted.Load()
		}
		if !try && h.troubled.Load() == 0 {
			return nil
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && h.works(began, try) || err != nil && h.fails(try) {
		return h.tell(err)
	}
	return nil
}

// works records that a call was granted, and reports whether that is news.
func (h *health) works(began int64, try bool) (news bool) {
	if until := h.troubled.Load(); !try && (until == 0 || began < until) {
		return false
	}
	h.troubled.Store(0)
	if try {
		h.restUntil.Store(0)
	}
	return true
}

// fails records that a call failed, and reports whether that is news.
func (h *health) fails(try bool) (news bool) {
	now := realTime()
	until := later(now, h.coolDown)
	switch {
	case try:
		h.restUntil.Store(until)
		return true
	case h.restUntil.Load() != 0: // a late failure, of an outage that is known
		return false
	case now-int64(h.budget) >= h.granted.Load() && !h.restUntil.CompareAndSwap(0, until):
		return false
	}
	if again := h.troubled.Swap(until) != 0; again && now < h.quiet {
		return false
	}
	h.quiet = until
	return true
}

// tell reports the news. It requires h.mu, and releases it while Report runs. If Report is running,
// the latest news is reported afterwards, by a goroutine of its own: no request waits for that.
func (h *health) tell(news error) (fault error) {
	switch {
	case h.report == nil:
		return nil
	case h.telling:
		h.latest, h.more = news, true
		return nil
	}
	h.telling = true
	defer h.told() // even if Report ends the goroutine
	return h.callReport(news)
}

// told ends a call of Report. It requires h.mu.
func (h *health) told() {
	if h.telling = h.more; h.more {
		go h.tellLatest()
	}
}

func (h *health) tellLatest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.told()
	h.more = false
	_ = h.callReport(h.latest) // no request gets the error
}

var errReport = errors.New("weir: FallbackOptions.Report panicked")

// callReport recovers from a panic, because the goroutine may be one in which nobody else recovers.
func (h *health) callReport(news error) (fault error) {
	h.mu.Unlock()
	defer h.mu.Lock()
	defer func() {
		if p := recover(); p != nil {
			fault = fmt.Errorf("%w: %v\n%s", errReport, p, debug.Stack())
		}
	}()
	h.report(news)
	return nil
}
