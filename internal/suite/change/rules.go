package change

import (
	"fmt"
	"time"
)

// A violation is a rule that a step broke.
type violation struct {
	rule string
	step int
	why  string
}

// A rule checks the world after a step, and returns how it is broken, or "".
type rule struct {
	name   string
	broken func(w *world, a *answer) string
}

const (
	overASpanRule   = "R13, R16 and R17 over a span"
	stillCountsRule = "R16 frees only what still counts"
)

var rules = []rule{
	{"R13 at one instant", r13AtOneInstant},
	{overASpanRule, r13OverASpan},
	{"R14 a change shuts no key", r14ShutsNoKey},
	{"R15 what stays is exact", r15WhatStaysIsExact},
	{stillCountsRule, r16StillCounts},
	{"R16 all given back is as new", r16AllBack},
	{"R19 a debt binds", r19ADebtBinds},
	{"R20 All never books ahead", r20AllNeverBooks},
	{"R20 books only while no other charges it", r20BooksAlone},
}

// At a frozen clock, from a new key: the granted events less those given back are at most those
// that the most generous policy grants to a new key.
func r13AtOneInstant(w *world, a *answer) string {
	l := w.ledger(a.Step)
	if !w.frozen() || a.granted == 0 {
		return ""
	}
	net, most := 0, 0
	for _, d := range l.deeds {
		if d.at == a.at {
			net += d.n
		}
	}
	for i, asked := range l.asked {
		if asked {
			most = max(most, w.Policies[i].most(a.at, a.at, plenty, 0))
		}
	}
	if net > most {
		return fmt.Sprintf("%d granted less given back at one instant, at most %d are allowed", net, most)
	}
	return ""
}

// In every span, the granted events less those given back are at most a sum over the classes of
// policies: what each can grant from its first to its last grant in the span.
//
//   - Cancelled events do not count. By R16, cancelling frees at most the events that were charged
//     and still count. The rest could have been granted without them.
//   - Promised events count at their instant: R17, a promise stands.
//   - The last grant of a queue is at most its room, and all grants before it keep their distance:
//     R20.
func r13OverASpan(w *world, a *answer) string {
	if w.Bubble || a.granted == 0 {
		return ""
	}
	return w.ledger(a.Step).spans()
}

// All never books ahead.
func r20AllNeverBooks(w *world, a *answer) string {
	if a.delay > 0 && w.Policies[a.By].form != leaf {
		return fmt.Sprintf("%d booked %v ahead by a composed policy", a.granted, a.delay)
	}
	return ""
}

// A bucket books ahead only while no other policy's events charge it. At a frozen clock the charge
// is known for leaves: the share of the other policy's limit that its own events are.
func r20BooksAlone(w *world, a *answer) string {
	l := w.ledger(a.Step)
	if !w.frozen() || a.delay == 0 || w.Policies[a.By].form != leaf || l.nameless {
		return ""
	}
	limit := w.Policies[a.By].most(a.at, a.at, plenty, 0)
	used := make([]int, len(w.Policies))
	for _, d := range l.deeds {
		used[l.class[d.by]] += d.n
	}
	for i, n := range used {
		p := l.joined[i]
		if i == l.class[a.By] || p.form != leaf || isMarker(p.leaf) || isQueue(p) || n == 0 {
			continue
		}
		if theirs := p.most(a.at, a.at, plenty, 0); n*limit >= theirs {
			return fmt.Sprintf("booked %v ahead, while %d of %d events of another policy charge it", a.delay, n, theirs)
		}
	}
	return ""
}

// When the states of all grants are over, and the policy's own span has passed since its first ask
// after the last grant, the policy grants what it grants to a new key. Denied asks and looks do not
// prolong that.
func r14ShutsNoKey(w *world, a *answer) string {
	l := w.ledger(a.Step)
	if w.Bubble || a.asked == 0 || a.granted > 0 || a.err != nil {
		return ""
	}
	switch a.Op {
	case opTake, opReserve, opAllow:
		if a.asked > a.result.Limit {
			return ""
		}
	case opUpTo:
	default:
		return ""
	}
	if end := max(l.end, later(l.first[a.By], w.Policies[a.By].span())); a.at >= end {
		return fmt.Sprintf("denied at %s, though the last ResetAfter and the asker's span were over %v before", instant(a.at), time.Duration(a.at-end))
	}
	return ""
}

func isQueue(p tree) bool {
	return p.any(func(p weirPolicy) bool { _, is := p.(weirQueue); return is })
}
