package change

import (
	"fmt"
)

// A reservation gives nothing back once the state that its grant left is over, or the key was
// reset. Later events are not its own.
func r16StillCounts(_ *world, a *answer) string {
	if a.freed > 0 {
		return fmt.Sprintf("%d are free since, and none of the reservation's counted any more", a.freed)
	}
	return ""
}

// When all granted events are given back, none of them counts. Each is freed as long as it counts,
// in any order. There are exceptions: a cancelled booking with later bookings behind it may free
// nothing, and Return names no tier, and no color of a marker. A queue frees its last event only,
// because the others may be in the future. If there were several policies, Return does not know
// whose events they are, and buckets of one rate and several sizes may seem in debt to each other.
func r16AllBack(w *world, a *answer) string {
	l := w.ledger(a.Step)
	p := w.Policies[a.By]
	if a.Op != opAllBack || !l.asked[a.By] || l.debts || l.ahead || l.doubled || l.era > 1 || isQueue(p) || l.nameless && p.any(isMarker) {
		return ""
	}
	if l.kinds() == 1 && hasTiers(p) || l.kinds() > 1 && (l.nameless || !w.oneHasBuckets()) {
		return ""
	}
	look := w.look(a.By, a.Key)
	fresh, err := w.limiter(a.By).Take(w.ctx(a.Step), "fresh", 0)
	if err != nil {
		return err.Error()
	}
	if look.Remaining != fresh.Remaining || look.ResetAfter != 0 {
		return fmt.Sprintf("all is given back, and %d of %d remain, reset after %v", look.Remaining, fresh.Remaining, look.ResetAfter)
	}
	return ""
}

// oneHasBuckets reports whether at most one of the policies has buckets, and none is a marker.
func (w *world) oneHasBuckets() bool {
	n := 0
	for _, p := range w.Policies {
		if p.any(isMarker) {
			return false
		}
		if p.any(isBucket) {
			n++
		}
	}
	return n <= 1
}

func hasTiers(p tree) bool {
	for _, q := range p.parts {
		if hasTiers(q) {
			return true
		}
	}
	return p.form == tiers
}

// Buckets grant nothing while they owe more than they have together. The charged events, including
// the grant before it is settled, are at most those that they hold and earn. "Reserve 1, settle
// 1000" therefore charges the rate in the long run. A policy of another package does not tell its
// debt to the other tiers.
func r19ADebtBinds(w *world, a *answer) string {
	l, p := w.ledger(a.Step), w.Policies[a.By]
	if hasTiers(p) && p.hasForeign() || w.Bubble || a.granted == 0 || a.delay > 0 || l.kinds() != 1 || l.nameless || l.era > 1 {
		return ""
	}
	charged := l.charged
	if a.Op == opOverrun {
		charged -= a.N - 1
	}
	if most := p.owes(l.began, a.at); charged > most {
		return fmt.Sprintf("granted when %d were charged, and all buckets together have had %d", charged, most)
	}
	return ""
}

// owes returns the events that the buckets of a policy held and earned together from s to t. It
// returns plenty if a window may grant, because a window forgets debts.
func (p tree) owes(s, t int64) int {
	n := plenty
	switch {
	case p.form == all:
		for _, q := range p.parts {
			n = min(n, q.owes(s, t))
		}
	case p.form == tiers:
		n = 0
		for _, q := range p.parts {
			n = min(n+q.owes(s, t), plenty)
		}
	case isMarker(p.leaf), isBucket(p.leaf):
		n = p.most(s, t, plenty, 0)
	}
	return min(n, plenty)
}
