package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func queryOf(id string) string {
	i := slices.IndexFunc(Experiments, func(e Experiment) bool { return e.ID == id })
	return Experiments[i].Query
}

func figuresOf(t *testing.T, id string) (all []Figures) {
	r := ran(t, queryOf(id))
	for i := range r.scenario.Lanes {
		assert.False(t, r.Full(i))
		all = append(all, r.Figures(i, r.scenario.Span))
	}
	return all
}

// What the texts of the experiments say is so.
func TestExperimentsShowWhatTheySay(t *testing.T) {
	f := figuresOf(t, "boundary")
	assert.Equal(t, 40, f[0].Busiest, "the fixed window grants twice the limit")
	assert.Equal(t, 20, f[2].Busiest, "the log does not")
	assert.Equal(t, 20, f[3].Granted)

	f = figuresOf(t, "outage")
	assert.Less(t, f[1].Busiest, 22, "the leaky bucket keeps its rate")
	assert.Greater(t, f[0].Busiest, 30, "the token bucket sends what it saved")

	f = figuresOf(t, "queue")
	assert.Greater(t, f[0].Denied, f[1].Denied)
	assert.Greater(t, f[1].Denied, f[2].Denied)
	assert.Zero(t, f[2].Denied)
	assert.Less(t, f[0].Longest, f[1].Longest)
	assert.Less(t, f[1].Longest, f[2].Longest)

	f = figuresOf(t, "two")
	assert.LessOrEqual(t, f[2].Granted, min(f[0].Granted, f[1].Granted))
	assert.LessOrEqual(t, f[2].Busiest, 60)
	assert.Greater(t, f[0].Busiest, 60)

	f = figuresOf(t, "change")
	assert.Less(t, f[0].Granted, f[2].Granted)
	assert.Less(t, f[2].Granted, f[1].Granted)

	f = figuresOf(t, "clients")
	for i, lane := range f {
		obeyed := ran(t, strings.Replace(queryOf("clients"), "c=mixed", "c=obey", 1)).Figures(i, 20*time.Second)
		assert.LessOrEqual(t, lane.Granted, obeyed.Granted)
		assert.Greater(t, 2*lane.Denied, 3*obeyed.Denied)
		assert.Greater(t, lane.Denied, lane.Granted)
		assert.NotZero(t, lane.Hammered)
		assert.NotEqual(t, lane.Granted, lane.Hammered)
	}
}
