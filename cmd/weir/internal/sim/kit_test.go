package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ran is the whole simulation of a query.
func ran(t testing.TB, query string) *Run {
	t.Helper()
	s, err := Parse(query)
	require.NoError(t, err)
	r, err := New(s)
	require.NoError(t, err)
	require.NoError(t, r.Advance(s.Span))
	return r
}

// answers are the records of a lane without looks.
func answers(r *Run, lane int) (all []Record) {
	for _, rec := range r.Records(lane) {
		if rec.Kind != Look {
			all = append(all, rec)
		}
	}
	return all
}

// grants are the instants at which requests of a lane went ahead.
func grants(r *Run, lane int) (all []time.Duration) {
	for _, rec := range r.Records(lane) {
		if rec.Kind == Granted || rec.Kind == Held {
			all = append(all, rec.At)
		}
	}
	return all
}
