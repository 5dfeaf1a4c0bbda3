package remote

import (
	"runtime"
	"sync"

	"github.com/weir-go/weir/redisstore/internal/script"
)

// Two flights keep both sides busy: while the server works on one, replies of the other are read and the
// next one is written. More at once are smaller, and so each call costs more. A flight is bounded
// because other clients of the server wait for it.
const (
	MaxFlights = 2
	MaxCalls   = 64
)

// A queue has calls wait for a flight, and bounds what is under way. While as many flights as are
// useful are under way, those who come wait; when one lands, the next takes all who wait, in one round
// trip. So nobody waits for company, and the more come, the less each costs.
type queue struct {
	process     func(*flight) // sends its calls, and sets what they come to
	maxUnderWay int           // calls in flights
	maxFlights  int           // that someone waits for
	maxCalls    int           // in a flight

	mu       sync.Mutex
	underWay int
	flights  int  // those that board among them
	boarding int  // flights
	waiting  call // the head of a ring
	waits    int  // how many do

	spare sync.Pool // of *flight that have landed
}

// A flight is commands that are sent together. It has a goroutine, and that has the next flight after it.
type flight struct {
	fly       func()
	calls     []*call
	cmds      []*Command // of the calls
	firsts    map[script.Group]*call
	kinds     map[kind]*Command
	ctx       flightContext // for drivers that are Endless
	gone      chan struct{} // closed when nobody waits for it any more
	waitedFor int           // by how many callers. Guarded by the queue's mutex.
}

// newQueue returns a queue that sends each call alone.
func newQueue(maxUnderWay int) *queue {
	q := &queue{maxUnderWay: maxUnderWay, maxFlights: maxUnderWay, maxCalls: 1}
	q.waiting.next, q.waiting.prev = &q.waiting, &q.waiting
	q.spare.New = func() any {
		f := &flight{gone: make(chan struct{}), firsts: make(map[script.Group]*call), kinds: make(map[kind]*Command)}
		f.ctx.gone = f.gone
		f.fly = func() {
			for f := f; f != nil; {
				q.board(f)
				if len(f.calls) > 0 {
					q.process(f)
				}
				f = q.land(f)
			}
		}
		return f
	}
	return q
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
	var next *flight
	switch f := c.flight; c.state {
	case notSent:
		c.prev.next, c.next.prev = c.next, c.prev
		q.waits--
	case maybeSent:
		if f.waitedFor--; f.waitedFor == 0 {
			close(f.gone)
			q.flights-- // it may last for long, and must not hold up the others
			next = q.open()
		}
	}
	state := c.state
	q.mu.Unlock()
	if next != nil {
		go next.fly()
	}
	return state
}

// open returns a flight for those who wait, if there may be one more, and those that board have no room for
// them. It requires that mu is held.
func (q *queue) open() *flight {
	if q.flights == q.maxFlights || q.underWay >= q.maxUnderWay || q.waits <= q.boarding*q.maxCalls {
		return nil
	}
	q.flights++
	q.boarding++
	return q.spare.Get().(*flight)
}

// board takes those who wait on a flight.
func (q *queue) board(f *flight) {
	if q.maxCalls > 1 {
		// Those who are about to ask come along: others have landed together just now, and all run before this
		// goroutine does again. If there are none, it goes on at once.
		runtime.Gosched()
	}
	q.mu.Lock()
	n := min(q.maxCalls, q.maxUnderWay-q.underWay)
	for c := q.waiting.next; c != &q.waiting && len(f.calls) < n; c = c.next {
		c.state, c.flight = maybeSent, f
		f.calls = append(f.calls, c)
		q.waiting.next, c.next.prev = c.next, &q.waiting
	}
	f.waitedFor = len(f.calls)
	q.underWay += len(f.calls)
	q.waits -= len(f.calls)
	q.boarding--
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
	wanted := f.waitedFor > 0 || len(f.calls) == 0 // else its end has been counted before
	if wanted {
		q.flights--
	}
	next := q.open()
	q.mu.Unlock()
	for _, c := range f.calls {
		c.done <- struct{}{}
	}
	if wanted {
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
