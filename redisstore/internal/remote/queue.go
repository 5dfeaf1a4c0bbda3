package remote

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir/redisstore/internal/script"
)

// Two flights keep a near server and this process busy. While the server works on one, this process
// reads the replies of the other and writes the next one. More flights at once would be smaller,
// and each call would cost more. But a flight that is in the air for longer than patience goes to a
// distant server or is stuck, and others need not wait for it. The number of flights thus follows
// the round trip. The size of a flight is bounded because other clients of the server wait for it.
const (
	MaxFlights = 2
	MaxCalls   = 64
	patience   = time.Millisecond
)

// After a pause, flights start small. Each two have twice as many seats as the two before. If a
// connection was lost during the pause, only the call in the first flight fails, as it would
// without flights.
const grown = 6 * MaxFlights

// A queue collects calls into flights, and bounds the calls in flight. If maxFlights flights have
// left recently, new calls wait. When one of them lands, or patience has passed, the next flight
// takes as many waiting calls as it has seats. No call waits for others to come. The more calls
// come, the less each costs.
type queue struct {
	process     func(*flight) // sends the calls, and sets their replies and errors
	maxUnderWay int           // calls in flights
	maxOut      int           // flights
	maxFlights  int           // flights that left recently
	maxCalls    int           // calls in a flight
	patience    time.Duration // how long a flight delays others; 0 for not at all

	mu       sync.Mutex
	underWay int
	out      int       // flights, including those that board
	seats    int       // seats in the flights that board
	recent   []*flight // flights that left recently, in order
	grown    int       // how many flights have left without a pause
	landed   time.Time // when the last flight landed
	waiting  call      // the head of a ring
	waits    int       // the number of waiting calls
	armed    bool      // a timer will call open when patience has passed for the first of recent

	spare sync.Pool // *flight values to use again
}

// A flight is a set of commands that are sent together. It has a goroutine, which then runs the
// next flight.
type flight struct {
	fly       func()
	left      time.Time
	seats     int
	calls     []*call
	cmds      []*Command // the commands of the calls
	firsts    map[script.Group]*call
	kinds     map[kind]*Command
	ctx       flightContext // for Endless drivers
	gone      chan struct{} // closed when the last caller has stopped waiting for it
	waitedFor int           // number of waiting callers. The queue's mutex guards it.
	failed    bool          // then it is not used again
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

// fly runs a flight, and the next ones.
func (q *queue) fly(f *flight) {
	defer func() {
		if f == nil {
			return
		}
		// A hook of the client has panicked, or ended the goroutine.
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

// join adds c to the waiting calls.
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

// A callState is the state of a call.
type callState int

const (
	notSent   callState = iota
	maybeSent           // the outcome may stay unknown
	hasLanded           // done has received or will receive
)

// leave removes the call of a caller that gives up, and returns its state.
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

// open returns a flight for the waiting calls, or nil. It returns one if one more may leave, and
// the boarding flights do not have enough seats. It requires that mu is held.
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

// wake calls open after d. It requires that mu is held.
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

// board moves waiting calls into a flight.
func (q *queue) board(f *flight) {
	if q.maxCalls > 1 {
		// Callers that are about to send should join this flight: other calls have just landed
		// together, and their goroutines all run before this one does again. If there are none,
		// Gosched returns at once.
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

// land ends a flight, signals its callers, and returns the next flight, if any.
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
	again := !f.failed && (f.waitedFor > 0 || len(f.calls) == 0) // otherwise gone is closed
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

// length returns the number of waiting calls.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waits
}
