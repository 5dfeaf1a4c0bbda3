package fleet

import (
	"container/heap"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// giveBackWithin is how long the store has for a give-back.
const giveBackWithin = time.Second

// returnable returns how many of the unused events of a lease can be given back.
func (k *leasedKey) returnable(l *lease, unused int) int {
	if l.charges == nil || k.plan.Now() >= l.back {
		return 0
	}
	return unused
}

// backLater gives back unused events of a lease that is closed, if they can be given back. It
// requires that k.mu is held.
func (s *LeaseStore) backLater(k *leasedKey, l *lease, unused int) {
	if n := k.returnable(l, unused); n > 0 {
		k.save(-wholeCall)
		k.backs.begin()
		go s.giveBack(k, l, n)
	}
}

// drop ends the lease of a key, and takes what can be given back of it. No call may be under way.
func (s *LeaseStore) drop(k *leasedKey) (l *lease, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, unused := k.drop()
	if l == nil {
		return nil, 0
	}
	if n = k.returnable(l, unused); n > 0 {
		k.backs.begin()
	}
	return l, n
}

// backsAtOnce is how many give-backs are under way at most when many keys give back. A give-back
// must end within giveBackWithin. With too many at once, it could spend that time waiting for a
// connection.
const backsAtOnce = 64

// giveBackAll gives back what take takes of the keys. It ends when all give-backs have begun, or
// when ctx ends.
func (s *LeaseStore) giveBackAll(ctx context.Context, keys iter.Seq[*leasedKey], take func(*leasedKey) (*lease, int)) {
	places := make(chan struct{}, backsAtOnce)
	for k := range keys {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		l, n := take(k)
		if n == 0 {
			<-places
			continue
		}
		go func() {
			defer func() { <-places }()
			s.giveBack(k, l, n)
		}()
	}
}

// giveBack gives back n events of a lease. The charges of the lease name where the events were
// counted, so that nothing else is freed. In an outage, a Fallback passes the give-back to its
// second store, which then frees as many events of its own. The two stores together free each event
// once. It ends what k.backs has begun.
func (s *LeaseStore) giveBack(k *leasedKey, l *lease, n int) {
	defer k.backs.end()
	err := errNoReply
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
		if err != nil && s.report != nil {
			s.report(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), giveBackWithin)
	defer cancel()
	charges := slices.Clone(l.charges)
	_, err = s.store.Do(ctx, weir.Request{
		Plan: k.plan, Key: k.key,
		Ask: weir.Ask{N: -n, GrantedAt: l.at, Charges: &charges},
	})
}

// pending counts what is under way.
type pending struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0; nil if nobody waits for that
}

func (p *pending) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
}

func (p *pending) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n > 0
}

func (p *pending) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n--; p.n == 0 && p.none != nil {
		close(p.none)
		p.none = nil
	}
}

// wait waits until nothing is under way, or ctx has ended.
func (p *pending) wait(ctx context.Context) error {
	p.mu.Lock()
	if p.n == 0 {
		p.mu.Unlock()
		return ctx.Err()
	}
	if p.none == nil {
		p.none = make(chan struct{})
	}
	none := p.none
	p.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A leaseWatch looks for leases that nobody uses, with one timer. It looks at each lease from time
// to time. If none of the lease's events has been used since the last look, they are given back.
type leaseWatch struct {
	mu    sync.Mutex // guards what follows; keys are locked before it
	keys  watchHeap
	timer *time.Timer
	at    int64 // when the timer ends, in real time; 0 if it is not set
}

// watched is what a key knows of its watch. The mutex of the key guards its fields, except looks,
// which the mutex of the watch guards.
type watched struct {
	watching bool
	saw      *lease
	sawLeft  int64
	looks    int64 // when to look next, in real time
}

// idle is how long a lease stays unused before it is given back. A lease of a bucket is kept for
// longer, because its events are lost when they are given back. It requires that k.mu is held.
func (k *leasedKey) idle() time.Duration {
	leases := 0.5
	if k.drains {
		leases = 2
	}
	return time.Duration(leases * float64(k.time) * k.longer())
}

// add watches the lease l of a key. It requires that k.mu is held.
func (w *leaseWatch) add(s *LeaseStore, k *leasedKey, l *lease) {
	if k.watching {
		return
	}
	k.watching = true
	w.mu.Lock()
	defer w.mu.Unlock()
	k.looks = realTime() + min(int64(k.idle()), max(l.age-k.plan.Now(), int64(leastHold)))
	heap.Push(&w.keys, k)
	w.set(s)
}

// stop ends the watch of all keys. Keys that are leased later are watched again.
func (w *leaseWatch) stop() {
	w.mu.Lock()
	due := w.keys
	w.keys, w.at = nil, 0
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	for _, k := range due {
		k.mu.Lock()
		k.watching = false
		k.mu.Unlock()
	}
}

// set sets the timer for the first key. It requires that w.mu is held.
func (w *leaseWatch) set(s *LeaseStore) {
	switch {
	case len(w.keys) == 0:
		w.at = 0
		return
	case w.at != 0 && w.at <= w.keys[0].looks:
		return
	}
	w.at = w.keys[0].looks
	in := time.Duration(max(w.at-realTime(), 0))
	if w.timer == nil {
		w.timer = time.AfterFunc(in, func() { w.look(s) })
	} else {
		w.timer.Reset(in)
	}
}

// look looks at the keys whose time has come.
func (w *leaseWatch) look(s *LeaseStore) {
	w.mu.Lock()
	w.at = 0
	var due []*leasedKey
	for now := realTime(); len(w.keys) > 0 && w.keys[0].looks <= now; {
		due = append(due, heap.Pop(&w.keys).(*leasedKey))
	}
	w.set(s)
	w.mu.Unlock()

	s.giveBackAll(context.Background(), slices.Values(due), s.unused)
}

// unused ends a lease whose events nobody has used for a while, and returns how many of them to
// give back. If some were used since the last look, it keeps the lease, and looks again later.
func (s *LeaseStore) unused(k *leasedKey) (*lease, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watching = false
	l := k.lease.Load()
	if l == nil {
		return nil, 0
	}
	left, now := l.left.Load(), k.plan.Now()
	switch {
	case left < 0 || k.returnable(l, int(left)+l.dead) == 0: // a call is under way, or there is nothing
		k.saw = nil
		return nil, 0
	case now < l.age && (k.saw != l || k.sawLeft != left):
		k.saw, k.sawLeft = l, left
		s.watch.add(s, k, l)
		return nil, 0
	}
	k.saw = nil
	unused, dead := k.end(l)
	n := k.returnable(l, unused+dead)
	k.put(l.next(0, 0, now))
	if n > 0 {
		k.save(-wholeCall)
		k.backs.begin()
	}
	return l, n
}

// A watchHeap has the key first that is to be looked at next.
type watchHeap []*leasedKey

func (h watchHeap) Len() int           { return len(h) }
func (h watchHeap) Less(i, j int) bool { return h[i].looks < h[j].looks }
func (h watchHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *watchHeap) Push(k any)        { *h = append(*h, k.(*leasedKey)) }
func (h *watchHeap) Pop() any {
	old := *h
	last := len(old) - 1
	k := old[last]
	old[last] = nil
	*h = old[:last]
	return k
}
