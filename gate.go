package weir

import (
	"context"
	"strings"
)

// An activity is something that is under way for a key with those who wait for it. Those of one
// kind go on at the same time, but for retimings; they never overlap with those of another kind.
//
// Whether those who booked are to move up when a place is given back depends on which came
// first, the booking or the return, and only the store knows that. So a return waits for the
// bookings under way, and bookings wait for the returns.
type activity int

const (
	booking   activity = iota // one joins a line, with or without having booked
	returning                 // one who has booked leaves the line, and gives its place back
	retiming                  // all are given new turns, since the policy has changed
)

// A gate keeps the activities of one key apart. All wait on channels, since a call of the store may
// take long.
type gate struct {
	kind    activity      // of those under way
	n       int           // how many are under way
	waiting [3]int        // how many of each kind wait to start
	over    chan struct{} // closed when none is under way any more; nil if nobody has waited for it
}

// admits tells whether one of the kind may start. Bookings, which are many, let the others go first.
func (g *gate) admits(kind activity) bool {
	if g.n > 0 && (g.kind != kind || kind == retiming) {
		return false
	}
	return kind != booking || g.waiting[returning]+g.waiting[retiming] == 0
}

// start waits until an activity of the kind may start, and end ends it. It fails if ctx ends before.
func (ls *lines) start(ctx context.Context, key string, kind activity) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	g := ls.gates[key]
	if g == nil {
		if ls.gates == nil {
			ls.gates = make(map[string]*gate)
		}
		g = new(gate)
		ls.gates[strings.Clone(key)] = g
	}
	for !g.admits(kind) {
		if g.over == nil {
			g.over = make(chan struct{})
		}
		over := g.over
		g.waiting[kind]++
		ls.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		}
		ls.mu.Lock()
		g.waiting[kind]--
		if ctx.Err() != nil && !g.admits(kind) {
			ls.settle(key, g)
			return ctx.Err()
		}
	}
	g.kind = kind
	g.n++
	return nil
}

func (ls *lines) end(key string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	g := ls.gates[key]
	g.n--
	ls.settle(key, g)
}

// settle lets those who wait look again if nothing is under way, and drops a gate that nobody uses.
func (ls *lines) settle(key string, g *gate) {
	if g.n > 0 {
		return
	}
	if g.over != nil {
		close(g.over)
		g.over = nil
	}
	if g.waiting == [3]int{} {
		delete(ls.gates, key)
	}
}
