package replay

import (
	"cmp"
	"slices"
)

// An event is a request of a log.
type event struct {
	at     int64 // nanoseconds since the Unix epoch
	cost   int
	client uint32
	whole  bool // at is the start of the second that the log has
}

// A stream returns events one after the other. It returns false at the end.
type stream interface{ next() (event, bool) }

// orderWindow is how many lines of a log are sorted at a time. A server writes a line when it has
// answered, so a slow request comes after later ones.
const orderWindow = 16 << 10

// ordered sorts the events of a stream within a window. Those of one instant keep their order. It
// takes its memory at the first call, and gives it back at the end.
type ordered struct {
	from  stream
	batch []event
	i     int // the next of batch
	ended bool
}

func (o *ordered) next() (event, bool) {
	if !o.ended && len(o.batch)-o.i <= orderWindow {
		o.fill()
	}
	if o.i == len(o.batch) {
		o.batch, o.i = nil, 0
		return event{}, false
	}
	e := o.batch[o.i]
	o.i++
	return e, true
}

// fill moves what is left to the front, and reads as much as there is room for.
func (o *ordered) fill() {
	if o.batch == nil {
		o.batch = make([]event, 0, 2*orderWindow)
	}
	o.batch = o.batch[:copy(o.batch, o.batch[o.i:])]
	o.i = 0
	for len(o.batch) < cap(o.batch) {
		e, ok := o.from.next()
		if !ok {
			o.ended = true
			break
		}
		o.batch = append(o.batch, e)
	}
	sortByTime(o.batch)
}

// sortByTime leaves the order of events of one instant.
func sortByTime(events []event) {
	byTime := func(a, b event) int { return cmp.Compare(a.at, b.at) }
	if !slices.IsSortedFunc(events, byTime) {
		slices.SortStableFunc(events, byTime)
	}
}

// merged merges ordered streams by time. It asks a stream for its first event only when that may be
// the next: the files of a log that is rotated each day are then in memory one after the other.
type merged struct {
	from []head
}

// A head is a stream with its next event.
type head struct {
	stream
	event  event // before the first event, only at is set: none comes before
	opened bool
}

func (m *merged) next() (event, bool) {
	for len(m.from) > 0 {
		least := 0
		for i := range m.from {
			if m.from[i].event.at < m.from[least].event.at {
				least = i
			}
		}
		h := &m.from[least]
		e, opened := h.event, h.opened
		var ok bool
		h.opened = true
		if h.event, ok = h.stream.next(); !ok {
			m.from = slices.Delete(m.from, least, least+1)
		}
		if opened {
			return e, true
		}
	}
	return event{}, false
}

// spread gives each event of a whole second an instant within it: the i-th of n comes i/n of a
// second later. Their order stays as it is. All logs are merged before: each by itself would put its
// first request of a second at the start, where those of the others are.
type spread struct {
	from   stream
	second []event // of one second, from i on, in the order of their instants
	i      int
	ahead  []event // one that is of a later second, or none
}

const nanosPerSecond = 1_000_000_000

// maxSecond is how many events of a second are held, to bound memory: 25 MB. More events count as
// another second of the same name.
const maxSecond = 1 << 20

func (s *spread) next() (event, bool) {
	if s.i == len(s.second) && !s.fill() {
		s.second, s.i = nil, 0
		return event{}, false
	}
	e := s.second[s.i]
	s.i++
	return e, true
}

// fill reads the events of the next second, or one event that is not of a whole second. Those of a
// log with fractions, and late ones, may be among the others. Only their instants stay.
func (s *spread) fill() bool {
	s.second, s.i = s.second[:0], 0
	s.second, s.ahead = append(s.second, s.ahead...), s.ahead[:0]
	for len(s.second) < maxSecond && (len(s.second) == 0 || s.second[0].whole) {
		e, ok := s.from.next()
		if !ok {
			break
		}
		if len(s.second) > 0 && e.at-s.second[0].at >= nanosPerSecond {
			s.ahead = append(s.ahead, e)
			break
		}
		s.second = append(s.second, e)
	}
	if len(s.second) == 0 {
		return false
	}
	start, n, i := s.second[0].at, int64(0), int64(0)
	inStart := func(e event) bool { return e.whole && e.at == start }
	for _, e := range s.second {
		if inStart(e) {
			n++
		}
	}
	for k, e := range s.second {
		if inStart(e) {
			s.second[k].at += i * nanosPerSecond / n
			i++
		}
	}
	sortByTime(s.second)
	return true
}
