package weir

import (
	"math"
	"slices"

	"github.com/weir-go/weir/internal/table"
)

// A key in which several policies have counted has a Ledger in place of a state. Its entry has the
// tag of a writer that is no policy. Callers without the segment's lock therefore do not find it.
// Its words are how many policies the Ledger has, the tags of their writers, and the Ledger's
// words.

// ledgers is the writer of entries with a ledger. It knows when they expire. No limiter has it, so
// it need not decide.
type ledgers struct {
	table.Writer
	memory *memory
}

// ID implements [table.Owner]. Nobody else joins it.
func (l *ledgers) ID() any { return nil }

// Clock implements [table.Owner].
func (l *ledgers) Clock() table.Clock { return l }

// Now implements [table.Clock]. The clocks of a ledger's limiters may differ from each other.
// Expiry therefore reads them itself, and returns an instant that lies before this one by the time
// since the ledger expired.
func (l *ledgers) Now() int64 { return maxInstant }

// Expiry implements [table.Expirer]. A ledger has expired when it has expired by all of the clocks.
func (l *ledgers) Expiry(words []uint64) int64 {
	ledger := l.memory.read(words)
	at, ago := ledger.Expiry(), int64(maxInstant)
	for _, by := range ledger.By {
		ago = min(ago, l.memory.writerBy(by.Tag).clock.Now()-at)
	}
	if at == math.MaxInt64 || ago < 0 {
		return math.MaxInt64
	}
	return maxInstant - ago
}

// Tags implements [table.Owner].
func (l *ledgers) Tags(words []uint64) []uint64 { return tagsOf(words) }

// tagsOf returns the tags in the words of a ledger.
func tagsOf(words []uint64) []uint64 { return words[1 : 1+words[0]] }

func (m *memory) writerBy(tag uint64) *writer { return writerOf(m.Writer(tag)) }

func (w *writer) rule() Rule { return Rule{Policy: w.policy, Decider: w.decider, Tag: w.Tag()} }

// ledger is what an entry holds, as a Ledger.
func (m *memory) ledger(c table.Content) Ledger {
	if _, ok := c.By.Owner.(*ledgers); ok {
		return m.read(c.Words)
	}
	return Ledger{By: []Rule{writerOf(c.By).rule()}, Plain: true, Words: c.Words}
}

// read takes apart the words of a Ledger that content has made.
func (m *memory) read(words []uint64) Ledger {
	tags := tagsOf(words)
	l := Ledger{By: make([]Rule, len(tags)), Words: slices.Clone(words[1+len(tags):])}
	for i, tag := range tags {
		l.By[i] = m.writerBy(tag).rule()
	}
	return l
}

// content is what an entry holds for a Ledger; it is empty for the Ledger of a new key.
func (m *memory) content(l Ledger) table.Content {
	switch {
	case len(l.By) == 0:
		return table.Content{}
	case l.Plain:
		return table.Content{By: m.Writer(l.By[0].Tag), Words: l.Words}
	}
	words := []uint64{uint64(len(l.By))}
	for _, by := range l.By {
		words = append(words, by.Tag)
	}
	return table.Content{By: &m.ledgers.Writer, Words: append(words, l.Words...)}
}

// decideChanged decides on an entry that another policy, or several policies, wrote. It requires
// that s is locked, and not full.
func (m *memory) decideChanged(mp *memPlan, s *table.Segment, e *table.Entry, r Request) (a Answer) {
	m.Change(s, e, func(old table.Content) (table.Content, bool) {
		now := r.Now()
		next, answer, changed, err := m.ledger(old).Decide(mp.rule(), now, r.Ask)
		a = answer
		a.At = now
		if err != nil || !changed {
			return old, false
		}
		return m.content(next), true
	})
	return a
}

// decideInherited decides on a new key that starts with what is left of the state which keys shared
// while memory was full, and returns what is shared from now on. The first denial after a change of
// policy begins the time of the charge for all keys that share. It requires that s is locked, and
// not full.
func (m *memory) decideInherited(
	mp *memPlan, s *table.Segment, h table.Hash, shared table.Content, r Request,
) (_ table.Content, changed bool, a Answer, ok bool) {
	now := r.Now()
	next, a, changed, err := m.ledger(shared).Decide(mp.rule(), now, r.Ask)
	a.At = now
	switch {
	case err != nil || !changed || len(next.By) == 0:
		return shared, false, a, true
	case a.Allowed:
		return shared, false, a, m.Add(s, h, m.content(next))
	}
	return m.content(next), true, a, true
}
