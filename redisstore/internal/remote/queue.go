package remote

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir/redisstore/internal/script"
)

// Two flights keep both sides of a near server busy: while it works on one, replies of the other are
// read and the next one is written. More at once are smaller, and so each call costs more. But a flight
// that is out for longer than patience is on a long way, or stuck, and it is no use to wait for
// it. So what is in flight follows the round trip. A flight is bounded because other clients of the
// server wait for it.
const (
	MaxFlights = 2
	MaxCalls   = 64
	patience   = time.Millisecond
)

// After a rest flights start small, and each two have twice as many seats as the two before. A connection
// that was lost meanwhile then fails one call, as it would if there were no flights.
const grown = 6 * MaxFlights

// A queue has calls wait for a flight, and bounds what is under way. While as many flights as are
// useful left just now, those who come wait; when one lands, or has been out for long, the next takes all
// who wait, in one round trip. So nobody waits for company, and the more come, the less each costs.
type queue struct {
	process     func(*flight) // sends its calls, and sets what they come to
	maxUnderWay int           // calls in flights
	maxOut      int           // flights
	maxFlights  int           // that left just now
	maxCalls    int           // in a flight
	patience    time.Duration // 0 if flights hold up no others

	mu       sync.Mutex
	underWay int
	out      int       // flights, those that board among them
	seats    int       // in those that board
	recent   []*flight // those that left just now, in order
	grown    int       // for how many flights calls have come without a rest
	landed   time.Time // when the last flight did that was out
	waiting  call      // the head of a ring
	waits    int       // how many do
	armed    bool      // they will try again when the first of recent is that no longer

	spare sync.Pool // of *flight that have landed
}

// A flight is commands that are sent together. It has a goroutine, and that has the next flight after it.
type flight struct {
	fly       func()
	left      time.Time
	seats     int
	calls     []*call
	cmds      []*Command // of the calls
	firsts    map[script.Group]*call
	kinds     map[kind]*Command
	ctx       flightContext // for drivers that are Endless
	gone      chan struct{} // closed when nobody waits for it any more
	waitedFor int           // by how many callers. Guarded by the queue's mutex.
	failed    bool          // and not to be used again
}

// newQueue returns a queue that sends each call alone.
func newQueue(maxUnderWay int) *queue {
	q := &queue{maxUnderWay: maxUnderWay, maxOut: maxUnderWay, maxFlights: 1, maxCalls: 1, grown: grown, landed: time.Now()}
	q.waiting.next, q.waiting.prev = &q.waiting, &q.waiting
	q.spare.New = func() any {
		f := &flight{gone: make(chan struct{}), firsts: make(map[script.Group]*call), kinds: make(map[kind]*Command)}
		f.ctx.gone = f.gone
		f.fly = func() { q.fly(f) }
		return f
	}
	return q
}

// fly has a flight take place, and those after it.
func (q *queue) fly(f *flight) {
	defer func() {
		if f == nil {
			return
		}
		// A hook of the client's has panicked, or ended the goroutine.
		f.fail(recover())
		if next := q.land(f); next != nil {
			go next.fly()
		}
	}()
	for f != nil {
		q.board(f)
		if len(f.calls) > 0 {
			q.process(f)
		}
		f = q.land(f)
	}
}

// join has c wait for a flight.
func (q *queue) join(c *call) {
	q.mu.Lock()
	c.next, c.prev = &q.waiting, q.waiting.prev
	c.prev.next, c.next.prev = c, c
	q.waits++
	f := q.open()
	q.mu.Unlock()
	if f != nil {
		go f.fly()
	}
}

// A callState is what has become of a call.
type callState int

const (
	notSent   callState = iota
	maybeSent           // nobody will know
	hasLanded           // done receives
)

// leave is for a caller that gives up.
func (q *queue) leave(c *call) callState {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch f := c.flight; c.state {
	case notSent:
		c.prev.next, c.next.prev = c.next, c.prev
		q.waits--
	case maybeSent:
		if f.waitedFor--; f.waitedFor == 0 {
			close(f.gone)
		}
	}
	return c.state
}

// open returns a flight for those who wait, if there may be one more, and those that board have no room for
// them. It requires that mu is held.
func (q *queue) open() *flight {
	if q.out == q.maxOut || q.underWay >= q.maxUnderWay || q.waits <= q.seats {
		return nil
	}
	now := time.Now()
	if len(q.recent) == q.maxFlights {
		if rest := q.patience - now.Sub(q.recent[0].left); rest > 0 {
			q.wake(rest)
			return nil
		}
		q.recent = slices.Delete(q.recent, 0, 1)
	}
	if q.out == 0 && now.Sub(q.landed) > q.patience {
		q.grown = 0
	}
	f := q.spare.Get().(*flight)
	f.left, f.seats = now, min(q.maxCalls, 1<<(q.grown/MaxFlights))
	q.grown = min(q.grown+1, grown)
	q.recent = append(q.recent, f)
	q.out++
	q.seats += f.seats
	return f
}

// wake has those who wait try again after d. It requires that mu is held.
func (q *queue) wake(d time.Duration) {
	if q.armed {
		return
	}
	q.armed = true
	time.AfterFunc(d, func() {
		q.mu.Lock()
		q.armed = false
		f := q.open()
		q.mu.Unlock()
		if f != nil {
			f.fly()
		}
	})
}

// board takes those who wait on a flight.
func (q *queue) board(f *flight) {
	if q.maxCalls > 1 {
		// Those who are about to ask come along: others have landed together just now, and all run before this
		// goroutine does again. If there are none, it goes on at once.
		runtime.Gosched()
	}
	q.mu.Lock()
	n := min(f.seats, q.maxUnderWay-q.underWay)
	for c := q.waiting.next; c != &q.waiting && len(f.calls) < n; c = c.next {
		c.state, c.flight = maybeSent, f
		f.calls = append(f.calls, c)
		q.waiting.next, c.next.prev = c.next, &q.waiting
	}
	f.waitedFor = len(f.calls)
	q.underWay += len(f.calls)
	q.waits -= len(f.calls)
	q.seats -= f.seats
	next := q.open()
	q.mu.Unlock()
	if next != nil {
		go next.fly()
	}
}

// land ends a flight, tells those who wait for it, and returns the next one, if any.
func (q *queue) land(f *flight) *flight {
	q.mu.Lock()
	for _, c := range f.calls {
		c.state = hasLanded
	}
	q.underWay -= len(f.calls)
	if q.out--; q.out == 0 {
		q.landed = time.Now()
	}
	if i := slices.Index(q.recent, f); i >= 0 {
		q.recent = slices.Delete(q.recent, i, i+1)
	}
	again := !f.failed && (f.waitedFor > 0 || len(f.calls) == 0) // else gone is closed
	next := q.open()
	q.mu.Unlock()
	for _, c := range f.calls {
		c.done <- struct{}{}
	}
	if again {
		clear(f.calls)
		f.calls = f.calls[:0]
		q.spare.Put(f)
	}
	return next
}

// length is how many wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waits
}
