package change

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// much is a limit that is never reached.
const much = 1e8

// A mirror is a leaf that was never changed. It has another store, and a limit that is never
// reached. All grants and all events given back are repeated on it. It therefore knows the events
// that still count, and until when.
type mirror struct {
	leaf tree
	l    *weir.KeyedLimiter
	held map[int]*weir.Reservation
	off  bool // something happened that the rules do not fully define
}

// mirrors returns the mirrors of a trial in which only numbers change, or parts of All come and go.
func (w *world) newMirrors() []*mirror {
	var leaves []tree
	for i, p := range w.Policies {
		switch {
		case p.hasForeign():
			return nil
		case len(p.parts) == 0 && p.form == leaf && !isMarker(p.leaf):
			if i > 0 && !(alike(p, w.Policies[0]) && samePer(p, w.Policies[0])) {
				return nil
			}
			leaves = append(leaves[:0], p)
		case p.form == all && w.Policies[0].form == all:
			for _, q := range p.parts {
				if q.form != leaf || isMarker(q.leaf) {
					return nil
				}
				leaves = append(leaves, q)
			}
		default:
			return nil
		}
	}
	var ms []*mirror
	for i, p := range leaves {
		first := true
		for _, q := range leaves[:i] {
			first = first && !alike(p, q)
		}
		if first {
			ms = append(ms, w.newMirror(p))
		}
	}
	return ms
}

func samePer(p, q tree) bool {
	switch p := p.leaf.(type) {
	case weir.TokenBucket:
		return p.Limit == q.leaf.(weir.TokenBucket).Limit
	case weir.LeakyBucket:
		return p.Limit == q.leaf.(weir.LeakyBucket).Limit
	}
	return true
}

func (w *world) newMirror(p tree) *mirror {
	m := &mirror{leaf: p, held: map[int]*weir.Reservation{}}
	large := numbered(p, much).leaf
	m.l = weir.Must(weir.New(large, weir.WithClock(w.clock), weir.WithStore(w.suite.New(w.clock)), weir.WithName(w.suite.name())))
	return m
}

// has returns the index of the part of p that m mirrors, and its limit. There is one such part, or
// none (-1).
func (m *mirror) has(p tree) (place, limit int) {
	if p.form == leaf {
		return 0, p.most(1, 1, plenty, 0)
	}
	place = -1
	for i, q := range p.parts {
		if alike(q, m.leaf) {
			if place >= 0 || !samePer(q, m.leaf) {
				return -1, 0
			}
			place, limit = i, q.most(1, 1, plenty, 0)
		}
	}
	return place, limit
}

// follow repeats on the mirror a step on the key.
func (m *mirror) follow(w *world, a *answer) {
	place, _ := m.has(w.Policies[a.By])
	bg, bucket := context.Background(), isBucket(m.leaf.leaf)
	m.off = m.off || w.ledger(a.Step).lost
	switch {
	case a.skipped || a.err != nil:
	case a.granted > 0 && (place < 0 || a.delay > 0), a.Op == opOverrun, a.Op == opAllBack:
		m.off = true
	case a.Op == opReserve:
		m.held[a.ID], _ = m.l.Reserve(bg, "key", a.granted)
	case a.granted > 0:
		r, err := m.l.Take(bg, "key", a.granted)
		m.off = m.off || err != nil || !r.Allowed && !bucket
	case a.Op == opSettle && m.held[a.Of] != nil:
		h := w.held[a.Of]
		indebted := w.ledger(a.Step).debts // a bucket then frees nothing, and the mirror knows no debt
		m.off = m.off || bucket && a.returned > 0 && (w.Policies[0].form == all || indebted) || a.N > h.n && (a.By != h.by || place < 0)
		_ = m.held[a.Of].Settle(bg, a.N)
	case a.Op == opReturn: // returning more than was granted says nothing about debts
		m.off = m.off || bucket && w.Policies[0].form == all || a.over || w.ledger(a.Step).debts
		// If there were several policies, the last one gives back. Its events may count in another
		// part only, or they may be those of a reservation, which then frees none.
		m.off = m.off || w.Policies[0].form == all && w.ledger(a.Step).kinds() > 1 && (!w.frozen() || len(m.held) > 0)
		_ = m.l.Return(bg, "key", a.N)
	case a.Op == opReset:
		_ = m.l.Reset(bg, "key")
	}
}

// Only the numbers change, or other parts of All: counted events stay counted, to the event and the
// instant.
func r15WhatStaysIsExact(w *world, a *answer) string {
	if w.Bubble || a.Key != 0 || a.Op == opAdvance || a.Op == opRetry {
		return ""
	}
	if w.mirrors == nil && !w.mirrored {
		w.mirrors, w.mirrored = w.newMirrors(), true
	}
	for _, m := range w.mirrors {
		if m.follow(w, a); m.off {
			continue
		}
		place, limit := m.has(w.Policies[a.By])
		if place < 0 {
			continue
		}
		counted, err := m.l.Take(context.Background(), "key", 0)
		s := Step{By: a.By}
		var parts []weir.Result
		look, err2 := w.limiter(a.By).TakeByComponent(w.ctx(s), key(s), 0, &parts)
		if err != nil || err2 != nil {
			return fmt.Sprint(err, err2)
		}
		if w.Policies[a.By].form == all {
			look = parts[place]
		}
		if w.ledger(a.Step).debts && narrow(m.leaf, much-counted.Remaining) {
			continue
		}
		want := max(0, limit-(much-counted.Remaining))
		if isQueue(m.leaf) {
			want = limit * (counted.Remaining / much)
		}
		off := look.ResetAfter - counted.ResetAfter // by less than a tick of the store's clock, if it has ticks
		if look.Remaining != want || int64(off.Abs()) >= w.suite.grain() {
			return fmt.Sprintf("%#v tells %d remaining and is reset after %v, want %d and %v, as what was counted is",
				m.leaf.leaf, look.Remaining, look.ResetAfter, want, counted.ResetAfter)
		}
	}
	return ""
}

// narrow reports whether a debt may not fit. By R9 the policy then errs towards denying. A window
// may pack its count too tightly. A log in debt keeps as many entries as events of its limit take:
// beyond that, earlier events count as new ones. The limit may have been raised and lowered before.
func narrow(p tree, used int) bool {
	per := time.Hour
	switch p := p.leaf.(type) {
	case weir.SlidingLog:
		return true
	case weir.FixedWindow:
		per = p.Per
	case weir.SlidingWindow:
		per = p.Per
	}
	return per < time.Millisecond || used > 1000 && per < time.Hour
}
