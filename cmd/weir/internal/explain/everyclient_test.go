package explain

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// No client gets more than Most: here all clients there are try it, of policies of nanoseconds.
func TestMostOfEveryClient(t *testing.T) {
	for policy, reached := range map[string]bool{
		"token-bucket 1/3ns burst=2":                 true,
		"token-bucket 3/2ns burst=2":                 false, // more than one event in a nanosecond
		"leaky-bucket 1/3ns":                         true,
		"fixed-window 2/4ns":                         true,
		"fixed-window 2/4ns from-first":              true,
		"sliding-window 2/4ns":                       false, // the estimate falls by steps
		"sliding-window 2/6ns buckets=3":             false,
		"sliding-log 2/4ns":                          true,
		"single-rate-marker 1/3ns burst=1 excess=2":  true,
		"all(fixed-window 2/3ns, sliding-log 3/5ns)": false, // Most is the least of both
		"tiers(1/3ns, fixed-window 1/4ns)":           true,
	} {
		p, err := weir.ParsePolicy(policy)
		require.NoError(t, err)
		d, err := p.Decider()
		require.NoError(t, err)
		for span := range runs.Long(11, 8) { // each is twice the work of the one before, or more
			most, got := Most(p, time.Duration(span)), everyClient(d, span)
			assert.LessOrEqual(t, got, most, "%s in %dns", policy, span)
			if reached {
				assert.Equal(t, most, got, "%s in %dns", policy, span)
			}
		}
	}
}

// A reached is a state, and the most events with which a client reaches it.
type reached struct {
	state  []uint64
	events int
}

// everyClient returns the most events that any client gets in a span of nanoseconds.
func everyClient(d weir.Decider, span int) (most int) {
	before := map[string]reached{"": {state: make([]uint64, d.Words())}}
	for start := range 13 { // longer than any of the windows together
		in := before
		for i := range span {
			in = everyChoice(d, in, start+i)
		}
		for _, r := range in {
			most = max(most, r.events)
		}
		before = everyChoice(d, before, start)
		for key, r := range before {
			before[key] = reached{r.state, 0}
		}
	}
	return most
}

// everyChoice returns what clients can reach by any number of events at an instant.
func everyChoice(d weir.Decider, before map[string]reached, at int) map[string]reached {
	after := map[string]reached{}
	for _, r := range before {
		for allowed := true; allowed; r.events++ {
			key := fmt.Sprint(r.state)
			if old, ok := after[key]; !ok || old.events < r.events {
				after[key] = r
			}
			next, a := d.Decide(slices.Clone(r.state), calendarFrom.UnixNano()+int64(at), weir.Ask{N: 1})
			r.state, allowed = next, a.Allowed
		}
	}
	return after
}
