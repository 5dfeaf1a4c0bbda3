package weir

import (
	"context"
	"slices"
	"strings"
	"time"
)

// An activity is work under way for a key that concerns its waiters. Activities of one kind run at
// the same time, except renewals. They never overlap with those of another kind.
//
// When a place is given back, the waiters that have booked may move up. This depends on which came
// first, the booking or the return, and only the store knows that. A return therefore waits for the
// bookings under way, and bookings wait for the returns.
type activity int

const (
	joining   activity = iota // a waiter joins the line, with or without a booking, or asks again
	returning                 // events are given back, or booked without joining the line
	renewing                  // all waiters get new turns: the policy has changed, or the key was reset
)

// A batch is activities of one kind that wait until those under way for a key have ended. At most
// one batch of bookings and one of returns wait. No kind therefore waits longer than one batch of
// each other kind takes, however many come. All wait on channels, because a call of the store may
// take long.
type batch struct {
	kind  activity
	n     int
	start chan struct{} // closed when they start
	since time.Time     // the first of them has waited
}

// start waits until an activity of the kind may start, and end ends it. Between them the line of
// the key is kept. start fails if ctx ends before. The activity asks the store with the context
// that start returns. It is ctx, and reports by [Waited] how long its caller has waited.
//
// All of a batch count as waiting since the first of them came. A caller that comes later and waits
// in the batch behind then does not wait longer for those that joined the first batch late.
func (ls *lines) start(ctx context.Context, key string, kind activity) (*line, context.Context, error) {
	ln, b := ls.enter(key, kind)
	if b == nil {
		return ln, ctx, nil
	}
	select {
	case <-b.start:
	case <-ctx.Done():
		if ls.giveUp(ln, b) {
			return nil, nil, ctx.Err()
		}
	}
	return ln, context.WithValue(ctx, sinceKey{}, b.since), nil
}

// enter returns the line of the key, and the batch to wait in, or nil if an activity of the kind
// may start now.
func (ls *lines) enter(key string, kind activity) (*line, *batch) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := ls.all[key]
	if ln == nil {
		if ls.all == nil {
			ls.all = make(map[string]*line)
		}
		ln = &line{key: strings.Clone(key)}
		ln.ends.prev, ln.ends.next, ln.booked, ln.watcher = &ln.ends, &ln.ends, &ln.ends, &ln.ends
		ls.all[ln.key] = ln
	}
	if ln.active == 0 || len(ln.next) == 0 && ln.kind == kind && kind != renewing {
		ln.kind = kind
		ln.active++
		return ln, nil
	}
	for _, b := range ln.next {
		if b.kind == kind && kind != renewing {
			b.n++
			return ln, b
		}
	}
	b := &batch{kind: kind, n: 1, start: make(chan struct{}), since: time.Now()}
	ln.next = append(ln.next, b)
	return ln, b
}

// giveUp takes one activity out of a waiting batch. It reports false if the batch has started.
func (ls *lines) giveUp(ln *line, b *batch) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	i := slices.Index(ln.next, b)
	if i < 0 {
		return false
	}
	if b.n--; b.n == 0 {
		ln.next = slices.Delete(ln.next, i, i+1)
	}
	return true
}

func (ls *lines) end(ln *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln.active--; ln.active > 0 {
		return
	}
	if ln.kind == renewing {
		ln.watcher.signal()
		if asks := ln.booked.next; asks != ln.watcher {
			asks.signal() // if the renewal failed it may have asked nobody
		}
	}
	if len(ln.next) > 0 {
		b := ln.next[0]
		ln.kind, ln.active, ln.next = b.kind, b.n, ln.next[1:]
		close(b.start)
	}
	ls.tidy(ln)
}

// tidy forgets a line that has no waiters and no activity under way.
func (ls *lines) tidy(ln *line) {
	if ln.empty() && ln.active == 0 {
		delete(ls.all, ln.key)
	}
}
