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

// A rule looks at the world after a step, and says why it is broken, or "".
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

// At a frozen clock, from a new key, what is granted less what is given back is at most what the most
// generous policy grants to a new key, and one event for each other.
func r13AtOneInstant(w *world, a *answer) string {
	l := w.ledger(a.Step)
	if !w.frozen() || a.granted == 0 {
		return ""
	}
	net, most, others := 0, 0, -1
	for _, d := range l.deeds {
		if d.at == a.at {
			net += d.n
		}
	}
	for i, asked := range l.asked {
		if asked {
			others++
			most = max(most, w.Policies[i].most(a.at, a.at, plenty, 0))
		}
	}
	if net > most+others {
		return fmt.Sprintf("%d granted less given back at one instant, at most %d and %d for other policies are allowed", net, most, others)
	}
	return ""
}

// In every span, what goes ahead less what is given back is at most the sum of what each class of policies, from the
// first to the last time that it granted in that span, can grant. What was cancelled is no part of it: R16, it frees
// no more than was charged and still counts, so that what is left could have been granted without it. Instants that
// were told count when they come: R17, a promise stands. The last grant of a queue is at most its room, and all before
// it have their spacing: R20.
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

// A bucket books ahead only while no other policy's events charge it. At a frozen clock the charge is known for leaves:
// the share that the other's own events are of its limit.
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

// When the states that all grants have left are over, and the asker's own span is over since it asked first after
// the last of them, it is granted what it grants to a new key. Denied asks and looks do not prolong that.
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
