package weir

// watches tells whether w is the one of its line who watches the time, and its instant.
func (ln *line) watches(w *waiter) (at int64, ok bool) {
	at = ln.at
	for w != ln.first {
		if !ln.booked || !w.prev.leaving {
			return 0, false
		}
		at += w.gap
		w = w.prev
	}
	return at, true
}

// signalFirst has the one who is to watch the time look at it.
func (ln *line) signalFirst() {
	w := ln.first
	for ln.booked && w != nil && w.leaving {
		w = w.next
	}
	if w != nil {
		w.signal()
	}
}

// changed has the one who watches the time look at it, if it is behind none but those who leave and w, which leaves
// or moves up. Others have nothing to look at.
func (ln *line) changed(w *waiter) {
	if _, watches := ln.watches(w); watches {
		ln.signalFirst()
	}
}

// toldBy notes by which scope one who has joined was told its turn.
func (ln *line) toldBy(s *Scope) {
	switch {
	case ln.first == ln.last:
		ln.scope = s
	case !ln.scope.equals(s):
		ln.scope = nil
	}
}

// insertAt inserts a waiter by its instant, after those of the same.
func (ls *lines) insertAt(ln *line, w *waiter, at int64) {
	prev, prevAt := ln.last, ln.lastAt
	for prev != nil && prevAt > at {
		prevAt -= prev.gap
		prev = prev.prev
	}
	if prev == ln.last {
		ln.lastAt = at
	}
	ls.insert(ln, prev, w)
	if prev == nil {
		if w.next != nil {
			w.next.gap = ln.at - at
		}
		ln.at = at
		return
	}
	w.gap = at - prevAt
	if w.next != nil {
		w.next.gap -= w.gap
	}
}

func newWaiter(n int) *waiter { return &waiter{n: n, wake: make(chan struct{}, 1)} }

// insert inserts a waiter after prev, or as the first.
func (ls *lines) insert(ln *line, prev, w *waiter) {
	w.line, w.prev, w.next, w.gap = ln, prev, nil, 0
	if prev == nil {
		w.next, ln.first = ln.first, w
	} else {
		w.next, prev.next = prev.next, w
	}
	if w.next == nil {
		ln.last = w
	} else {
		w.next.prev = w
	}
}

// unlink takes w out of its line, leaves all others' instants as they are, and wakes a new first.
// The line ends with its last waiter.
func (ls *lines) unlink(w *waiter) {
	ln := w.line
	w.gone = true
	if w.next == nil {
		ln.last = w.prev
		ln.lastAt -= w.gap
	} else {
		w.next.prev = w.prev
		w.next.gap += w.gap
	}
	if w.prev != nil {
		w.prev.next = w.next
		return
	}
	ln.first = w.next
	if ln.first == nil {
		delete(ls.all, ln.lineID)
		return
	}
	if ln.booked {
		ln.at += ln.first.gap
		ln.first.gap = 0
	}
	ln.signalFirst()
}
