package sim

import (
	"time"

	"github.com/weir-go/weir"
)

// A Record is something that happened in a lane: a look, an answer, or the start of a wait.
type Record struct {
	Kind    Kind
	Waited  bool          // the client called Wait
	Hammers bool          // the client does not obey RetryAfter
	Tries   int           // of the client before, all denied
	Came    time.Duration // when the client asked first, from the start
	At      time.Duration // of the answer
	Delay   time.Duration // of Waits: until the client's turn, or until it asks again
	Result  weir.Result   // zero for Waits of a client that has not asked the limiter yet

	// Told is what package httplimit tells the client: a Result, and behind it those of the
	// components of a policy that is composed of others. It is nil if all that counts is in Result.
	Told []weir.Result
}

// A Kind is what a Record tells.
type Kind uint8

// The kinds of records.
const (
	Look    Kind = iota // how many events remain; nobody asked for one
	Granted             // a request was granted
	Held                // a request that waited is granted, and goes ahead now
	Denied              // a request was denied
	Waits               // a request waits from now on
)

var kindNames = [...]string{"look", "granted", "held back", "denied", "waits"}

func (k Kind) String() string { return kindNames[k] }

// Figures sum a lane up, until an instant.
type Figures struct {
	Granted  int // requests, with those that were held back
	Hammered int // of Granted, the requests of clients that hammer
	Held     int // of Granted, the requests that had waited
	Denied   int // answers: a client that asks three times may be denied three times
	Waiting  int // requests that wait at that instant
	Busiest  int // the most requests granted in any span of Measure; the span includes its start, not its end

	// Longest is the longest time from a client's first request until the granted one.
	Longest time.Duration
}

// A meter computes Figures. It goes on from the instant that it was asked for last.
type meter struct {
	next    int // record
	first   int // of the grants within Measure of the latest one
	grants  []time.Duration
	figures Figures
}

func (m *meter) read(records []Record, at int64, span time.Duration) Figures {
	if m.next > 0 && int64(records[m.next-1].At) > at {
		*m = meter{}
	}
	for m.next < len(records) && int64(records[m.next].At) <= at {
		m.add(&records[m.next], span)
		m.next++
	}
	return m.figures
}

func (m *meter) add(r *Record, span time.Duration) {
	f := &m.figures
	switch r.Kind {
	case Waits:
		f.Waiting++
		return
	case Denied:
		f.Denied++
		if r.Waited && r.At > r.Came { // its turn was taken from it
			f.Waiting--
		}
		return
	case Look:
		return
	case Held:
		f.Held++
		f.Waiting--
	}
	f.Granted++
	if r.Hammers {
		f.Hammered++
	}
	f.Longest = max(f.Longest, r.At-r.Came)
	m.grants = append(m.grants, r.At)
	for m.grants[m.first] <= r.At-span {
		m.first++
	}
	f.Busiest = max(f.Busiest, len(m.grants)-m.first)
}
