package fleet

import (
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// A lease has the events of a key that the store has granted and that are not used yet, and what
// the store said of the key then. Only left and denied change.
type lease struct {
	grant
	until int64 // before this, all that are left may be used; after it, perhaps fewer
	size  int64 // how many were left at first
	dead  int   // unused events that must not be used any more

	askAt     int64 // before this, the store is not asked
	retryAt   int64 // before this, it is asked only for as few events as it had
	limit     int
	remaining int   // in the store
	resetAt   int64 // by its answer
	decidedBy int

	left   atomic.Int64 // below zero if the lease is closed
	denied atomic.Int64 // events that were asked for in vain
}

// A grant says what may be done with events that the store has granted.
type grant struct {
	hold     weir.Hold
	sent     int64         // just before the store was asked: all times of hold count from it
	age      int64         // the events are given back then
	at       int64         // the instant of the grant, by the store
	charges  []weir.Charge // with which unused events are given back; nil if they are not
	back     int64         // until then they can be given back
	degraded bool
}

// take decides on n events, at least one, if that is possible without the store.
func (l *lease) take(n int, now int64) (weir.Result, bool) {
	if left, ok := l.use(n, now); ok {
		return l.granted(left, now), true
	}
	return l.deny(n, now)
}

// use takes n events, and returns how many are left. An event that was taken before until counts as
// used at the instant now, whenever the caller goes on.
func (l *lease) use(n int, now int64) (left int, ok bool) {
	if now < l.until {
		for left := l.left.Load(); left >= int64(n); left = l.left.Load() {
			if l.left.CompareAndSwap(left, left-int64(n)) {
				return int(left) - n, true
			}
		}
	}
	return 0, false
}

// deny denies n events, if that is possible without the store.
func (l *lease) deny(n int, now int64) (r weir.Result, ok bool) {
	if l.left.Load() < 0 { // another takes its place just now, perhaps with events
		return r, false
	}
	valid := l.valid(now)
	until := l.retryAt
	if n <= valid+l.remaining {
		until = l.askAt
	}
	if now >= until || n > l.limit || n <= valid { // a new lease can grant what is valid
		return r, false
	}
	l.denied.Add(int64(n))
	return l.denial(valid, now, until), true
}

// granted is the result of a grant that leaves so many events.
func (l *lease) granted(left int, now int64) weir.Result {
	return weir.Result{
		Allowed:    true,
		Limit:      l.limit,
		Remaining:  min(l.remaining+left, l.limit),
		ResetAfter: time.Duration(max(l.resetAt-now, 0)),
		DecidedBy:  l.decidedBy,
		Degraded:   l.degraded,
	}
}

// denial is the result of a denial until retryAt, with so many events left. It is not Degraded:
// after a Degraded answer there is no time in which the store is not asked.
func (l *lease) denial(left int, now, retryAt int64) weir.Result {
	r := l.granted(left, now)
	r.Allowed, r.Degraded, r.Remaining, r.RetryAfter = false, false, left, time.Duration(retryAt-now)
	return r
}

// valid returns how many events may be used now.
func (l *lease) valid(now int64) int {
	left := l.left.Load()
	if left <= 0 || now >= l.age {
		return 0
	}
	return min(int(left), l.hold.Left(time.Duration(now-l.sent)))
}

// end closes the lease, and returns how many events are left, and how many others are unused. A
// second call returns none.
func (l *lease) end() (left, dead int) {
	before := l.left.Swap(-1)
	if before < 0 {
		return 0, 0
	}
	return int(before), l.dead
}

// keep sets how many events are left. n of them may be used now, and dead ones must not be used. A
// bucket earns events again while they are held. Of its events, keep keeps as many as may stay
// unused for a 32nd of the time that is left.
func (l *lease) keep(n, dead int, now int64) {
	last := min(l.age, later(l.sent, l.hold.For))
	left := 0
	if now < last {
		left = min(n, l.hold.Left(time.Duration(now-l.sent)))
	}
	if step := now + (last-now)/32; left > 0 && later(l.sent, l.hold.Within(left)) < step {
		left = min(left, l.hold.Left(time.Duration(step-l.sent)))
	}
	if left > 0 {
		l.until = min(last, later(l.sent, l.hold.Within(left)))
	}
	l.size, l.dead = int64(left), dead+n-left
	l.left.Store(l.size)
}

// next is a lease of n events that were left of l, which is closed, and of the same terms.
func (l *lease) next(n, dead int, now int64) *lease {
	m := &lease{
		grant: l.grant, askAt: l.askAt, retryAt: l.retryAt, limit: l.limit,
		remaining: l.remaining, resetAt: l.resetAt, decidedBy: l.decidedBy,
	}
	m.keep(n, dead, now)
	return m
}
