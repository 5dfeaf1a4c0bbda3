package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// All ways, in short: what is exact goes never over, and deaths of nodes are noticed.
func TestWays(t *testing.T) {
	runs.SkipDear(t) // forty processes
	o := options{rate: leastRate, time: leastTime, svg: filepath.Join(t.TempDir(), "all.svg")}
	var out bytes.Buffer
	results, err := o.try(t.Context(), &out)
	require.NoError(t, err, "%s", &out)
	require.Len(t, results, len(ways))
	for i, w := range ways {
		checkResult(t, w, results[i])
	}
	for _, i := range victims {
		died := fmt.Sprintf("      node %d is gone: signal: killed\n", i+1)
		assert.Equal(t, len(ways), strings.Count(out.String(), died))
		assert.Equal(t, len(ways), strings.Count(out.String(), fmt.Sprintf("      node %d is back\n", i+1)))
	}
	assert.Equal(t, len(ways)*allWindows, strings.Count(out.String(), "%"))

	require.NoError(t, o.draw(results, io.Discard))
	drawn := []string{"100 %", "3 killed"}
	for _, w := range ways {
		drawn = append(drawn, w.name)
	}
	checkSVG(t, o.svg, drawn...)
	var table strings.Builder
	require.NoError(t, writeTable(&table, results))
	for _, w := range ways {
		assert.Regexp(t, `(?m)^ +`+w.name+` +[0-9.]+ % `, table.String())
	}
}

func checkResult(t *testing.T, w way, r result) {
	t.Helper()
	assert.Equal(t, w.name, r.name)
	assert.Len(t, r.windows, allWindows)
	all := r.all()
	assert.Positive(t, all.granted, r.name)
	assert.Equal(t, r.name != "shares", all.calls > 0, r.name)
	if r.name != "synced" {
		assert.LessOrEqual(t, r.most(), r.limit, r.name)
	}
}

// A node that dies by itself ends the trial.
func TestTrial_Fault(t *testing.T) {
	p := &process{job: job{Node: 4}}
	trial := trial{running: 1, out: io.Discard}
	err := trial.note(news{process: p, gone: errors.New("exit status 1")})
	assert.EqualError(t, err, "node 5 is gone: exit status 1")
	p.ending = true
	assert.Error(t, trial.note(news{process: p, gone: errors.New("exit status 1")}))
	assert.NoError(t, trial.note(news{process: p, gone: errEnded}))
}

// A window is printed when all living nodes have reported it.
func TestTrial_Print(t *testing.T) {
	var out strings.Builder
	trial := trial{out: &out, policy: ten, begin: 100}
	for i := range trial.nodes {
		trial.nodes[i] = &process{job: job{Node: i}, ready: true}
	}
	for i := range trial.windows {
		trial.windows[i].took = histogram{}
	}
	say := func(node int, until time.Duration, granted map[int64]int) {
		t.Helper()
		require.NoError(t, trial.note(news{process: trial.nodes[node], report: report{
			Until: time.Unix(100, 0).Add(until), Granted: granted, Denied: 3, Calls: 2, Took: histogram{80: 1},
		}}))
	}
	trial.nodes[7].killed = true
	for i := range 6 {
		say(i, 1010*time.Millisecond, map[int64]int{100: 1, 99: 20})
	}
	say(6, 900*time.Millisecond, map[int64]int{100: 1})
	assert.Empty(t, out.String())
	say(6, 1001*time.Millisecond, map[int64]int{100: 4, 101: 1})
	assert.Regexp(t, `^  1 even +█{30}│█{3} +110 %  0\.457 calls  p50 1.1µs +p99 1.1µs +\n$`, out.String())
	assert.Equal(t, window{granted: 11, denied: 24, calls: 16, took: histogram{80: 8}}, trial.windows[0])
	assert.Equal(t, 1, trial.windows[1].granted)
}
