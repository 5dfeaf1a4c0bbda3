package weir

import (
	"context"
	"slices"
	"strings"
	"time"
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
	returning                 // something is given back, or booked by one who does not join the line
	retiming                  // all are given new turns, since the policy has changed
)

// A gate keeps the activities of one key apart. Those that can't start yet wait in batches of one
// kind, so that no kind waits for longer than it takes each of the others once, however many come.
// All wait on channels, since a call of the store may take long.
type gate struct {
	batch          // those under way
	next  []*batch // those who wait, at most one batch of bookings and one of returns
}

type batch struct {
	kind  activity
	n     int
	start chan struct{} // closed when they start
	since time.Time     // the first of them has waited
}

// start waits until an activity of the kind may start, and end ends it. It fails if ctx ends before.
// What is under way asks the store with the context that start returns, which is ctx, and tells
// [Fallback] since when its caller has waited.
//
// All of a batch are taken to have waited since its first came. So whoever comes after him, and
// waits in the batch behind, need not wait for those longer who have joined his later.
func (ls *lines) start(ctx context.Context, key string, kind activity) (context.Context, error) {
	b := ls.enter(key, kind)
	if b == nil {
		return ctx, nil
	}
	select {
	case <-b.start:
	case <-ctx.Done():
		if ls.giveUp(key, b) {
			return nil, ctx.Err()
		}
	}
	return context.WithValue(ctx, sinceKey{}, b.since), nil
}

// enter returns the batch to wait in, or nil if one of the kind may start now.
func (ls *lines) enter(key string, kind activity) *batch {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	g := ls.gates[key]
	if g == nil {
		if ls.gates == nil {
			ls.gates = make(map[string]*gate)
		}
		ls.gates[strings.Clone(key)] = &gate{batch: batch{kind: kind, n: 1}}
		return nil
	}
	if len(g.next) == 0 && g.kind == kind && kind != retiming {
		g.n++
		return nil
	}
	return g.join(kind)
}

// giveUp takes one out of a batch that waits. It reports false if that has started all the same.
func (ls *lines) giveUp(key string, b *batch) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	select {
	case <-b.start:
		return false
	default:
	}
	if b.n--; b.n == 0 {
		g := ls.gates[key]
		g.next = slices.DeleteFunc(g.next, func(other *batch) bool { return other == b })
	}
	return true
}

// join adds one to the batch of the kind that waits.
func (g *gate) join(kind activity) *batch {
	for _, b := range g.next {
		if b.kind == kind && kind != retiming {
			b.n++
			return b
		}
	}
	b := &batch{kind: kind, n: 1, start: make(chan struct{}), since: time.Now()}
	g.next = append(g.next, b)
	return b
}

func (ls *lines) end(key string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	g := ls.gates[key]
	if g.n--; g.n > 0 {
		return
	}
	if len(g.next) == 0 {
		delete(ls.gates, key)
		return
	}
	b := g.next[0]
	g.batch, g.next = *b, g.next[1:]
	close(b.start)
}

// sinceKey is of the instant since which the caller has waited for its turn.
type sinceKey struct{}

// waited is for how long the caller has waited before it came to ask.
func waited(ctx context.Context) (d time.Duration, has bool) {
	since, has := ctx.Value(sinceKey{}).(time.Time)
	if !has {
		return 0, false
	}
	return time.Since(since), true
}
