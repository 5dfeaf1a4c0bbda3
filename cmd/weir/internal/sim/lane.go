package sim

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"time"

	"github.com/weir-go/weir"
)

// key is the one key of each lane.
const key = "client"

// A lane simulates one policy.
type lane struct {
	scenario *Scenario
	lane     Lane
	arrivals []int64 // instants that are shared by all lanes
	arrived  int
	looked   int

	clock   *clock
	store   *store
	limiter *weir.KeyedLimiter
	coming  agenda // clients that ask again, or go ahead
	serial  int
	line    line

	records []Record
	parts   []weir.Result // of the latest answer, if its policy is composed of others
	told    int           // results in Told of the records
	meter   meter
}

// full reports whether l has as many records as a lane can have.
func (l *lane) full() bool { return len(l.records) >= maxRecords || l.told >= maxTold }

// A clock shows the instant of the simulation.
type clock struct{ now int64 } // from Start

func (c *clock) Now() time.Time { return Start.Add(time.Duration(c.now)) }

// After is never called: nothing in a simulation blocks.
func (c *clock) After(time.Duration) <-chan time.Time { return nil }

// A store is a MemStore that keeps its latest answer, which has more than a Result.
type store struct {
	weir.MemStore
	latest weir.Answer
}

func (s *store) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	a, err := s.MemStore.Do(ctx, r)
	s.latest = a
	return a, err
}

// A client makes one request, until it is granted or the client gives up.
type client struct {
	came    int64
	tries   int
	hammers bool

	due    int64 // when it asks again, or goes ahead
	serial int   // of clients that are due at one instant, the one who came first goes first
	booked *weir.Reservation
}

// agenda has the clients that are due, as a heap.
type agenda []*client

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(a[i].due, a[j].due), cmp.Compare(a[i].serial, a[j].serial)) < 0
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(c any)   { *a = append(*a, c.(*client)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func newLane(s *Scenario, l Lane, arrivals []int64) (*lane, error) {
	sim := &lane{scenario: s, lane: l, arrivals: arrivals, clock: new(clock), store: new(store)}
	var err error
	sim.limiter, err = weir.New(l.Policy, weir.WithClock(sim.clock), weir.WithStore(sim.store))
	return sim, err
}

// advance simulates all that happens until an instant. What happens at one instant happens in this
// order: a change of policy, clients that have asked before, new clients, a look.
func (l *lane) advance(to int64) error {
	for !l.full() {
		change, again, arrival := int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64)
		if l.lane.Then != nil {
			change = int64(l.lane.At)
		}
		if len(l.coming) > 0 {
			again = l.coming[0].due
		}
		if l.arrived < len(l.arrivals) {
			arrival = l.arrivals[l.arrived]
		}
		look := int64(l.scenario.Span) / looks * int64(l.looked)
		now := min(change, again, arrival, look)
		if now > to {
			return nil
		}
		l.clock.now = now
		var err error
		switch now {
		case change:
			err = l.change()
		case again:
			err = l.resume(heap.Pop(&l.coming).(*client))
		case arrival:
			err = l.arrive()
		default:
			err = l.look()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// arrive is the next request of the traffic.
func (l *lane) arrive() error {
	c := &client{came: l.clock.now}
	switch l.scenario.Clients {
	case Hammer:
		c.hammers = true
	case Mixed:
		c.hammers = l.arrived%2 == 1
	}
	l.arrived++
	if l.scenario.Clients == Wait {
		return l.join(c)
	}
	return l.ask(c)
}

func (l *lane) resume(c *client) error {
	if l.scenario.Clients == Wait {
		return l.turn(c)
	}
	return l.ask(c)
}

// ask takes an event for a client that does not wait.
func (l *lane) ask(c *client) error {
	r, err := l.limiter.TakeByComponent(context.Background(), key, 1, &l.parts)
	if err != nil {
		return err
	}
	if r.Allowed {
		rec := l.record(Granted, c, r)
		if len(l.parts) > 0 {
			l.tell(rec, r)
		}
		return nil
	}
	l.record(Denied, c, r)
	c.tries++
	switch {
	case l.scenario.Clients == Once || r.RetryAfter == weir.Never:
	case c.hammers:
		l.schedule(c, max(l.scenario.Span/200, 1))
	default:
		l.schedule(c, r.RetryAfter)
	}
	return nil
}

// tell keeps what a client is told: r, and the parts of the latest answer.
func (l *lane) tell(rec *Record, r weir.Result) {
	rec.Told = append([]weir.Result{r}, l.parts...)
	l.told += len(rec.Told)
}

// schedule makes c due after d, if the simulation lasts that long.
func (l *lane) schedule(c *client, d time.Duration) {
	if int64(d) > int64(l.scenario.Span)-l.clock.now {
		return
	}
	l.serial++
	c.due, c.serial = l.clock.now+int64(d), l.serial
	heap.Push(&l.coming, c)
}

func (l *lane) look() error {
	r, err := l.limiter.TakeByComponent(context.Background(), key, 0, nil)
	if err != nil {
		return err
	}
	l.looked++
	l.record(Look, &client{came: l.clock.now}, r)
	return nil
}

// change replaces the policy.
func (l *lane) change() error {
	then := l.lane.Then
	l.lane.Then = nil
	return l.renew(func() error { return l.limiter.SetPolicy(context.Background(), then) })
}

func (l *lane) record(kind Kind, c *client, r weir.Result) *Record {
	l.records = append(l.records, Record{
		Kind: kind, Waited: l.scenario.Clients == Wait && kind != Look, Hammers: c.hammers, Tries: c.tries,
		Came: time.Duration(c.came), At: time.Duration(l.clock.now), Result: r,
	})
	return &l.records[len(l.records)-1]
}
