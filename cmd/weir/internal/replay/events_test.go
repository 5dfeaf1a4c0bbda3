package replay

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A log is sorted within a window, logs are merged, and what is further away counts at the latest
// instant that was seen.
func TestOrder(t *testing.T) {
	a := textLog("a", lineAt(12, "x"), lineAt(10, "x"), lineAt(11, "x"))
	b := textLog("b", lineAt(10.5, "x"), lineAt(30, "x"))
	r := runOne(t, Config{}, "sliding-log 1/1s", b, a)
	assert.Equal(t, 1, r.Policies[0].Refused, "10, 10.5, 11, 12, 30")
	assert.Zero(t, r.Late)
	assert.Equal(t, 5, r.Requests)

	var lines []string
	for i := range 4 * orderWindow {
		lines = append(lines, lineAt(float64(1000+i), "x"))
	}
	r = runOne(t, Config{}, "1/1s", textLog("a", append(lines, lineAt(5, "y"), lineAt(6, "y"))...))
	assert.Equal(t, 2, r.Late)
	assert.Equal(t, 1, r.Policies[0].Refused, "both count at one instant")
	slices.Reverse(lines[:orderWindow])
	r = runOne(t, Config{}, "1/1s", textLog("a", lines...))
	assert.Zero(t, r.Late)
	assert.Zero(t, r.Policies[0].Refused)
}

// A slow request that is the earliest of a file stands anywhere in what is sorted of it.
func TestMergedFilesAreSorted(t *testing.T) {
	var a, b bytes.Buffer
	for i := range orderWindow - 1 {
		a.WriteString(lineAt(1000+float64(i), "x"))
		b.WriteString(lineAt(2000+float64(i), "y"))
	}
	b.WriteString(lineAt(1000.5, "x"))
	for _, logs := range [][]Log{{fileOf("a", a.Bytes()), fileOf("b", b.Bytes())}, {logOf("a", a.Bytes()), logOf("b", b.Bytes())}} {
		r := runOne(t, Config{}, "sliding-log 1/1s", logs...)
		assert.Zero(t, r.Late)
		assert.Equal(t, 1, r.Policies[0].Refused)
	}
}

// Files that follow one another are in memory one after the other.
func TestMergedOpensWhatComesNext(t *testing.T) {
	m := &merged{}
	var asked []int
	for i := range 3 {
		at := int64(100 - 10*i)
		m.from = append(m.from, head{event: event{at: at}, stream: streamFunc(func() (event, bool) {
			asked = append(asked, i)
			at++
			return event{at: at}, at < int64(104-10*i)
		})})
	}
	var got []int64
	for e, ok := m.next(); ok; e, ok = m.next() {
		got = append(got, e.at)
	}
	assert.Equal(t, []int64{81, 82, 83, 91, 92, 93, 101, 102, 103}, got)
	assert.Equal(t, []int{2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0}, asked)
}

type streamFunc func() (event, bool)

func (f streamFunc) next() (event, bool) { return f() }

func TestSpread(t *testing.T) {
	events := []event{
		{at: 5e9, whole: true, cost: 1},
		{at: 5e9, whole: true, cost: 2},
		{at: 5e9, whole: true, cost: 3},
		{at: 5e9, whole: true, cost: 4},
		{at: 6e9, cost: 5},
		{at: 6e9, cost: 6},
		{at: 6e9, whole: true, cost: 7},
		{at: 7e9, whole: true, cost: 8},
		{at: 7e9, whole: true, cost: 9},
	}
	i := 0
	s := &spread{from: streamFunc(func() (event, bool) {
		if i++; i > len(events) {
			return event{}, false
		}
		return events[i-1], true
	})}
	var at []int64
	for e, ok := s.next(); ok; e, ok = s.next() {
		assert.Equal(t, len(at)+1, e.cost)
		at = append(at, e.at/1e6)
	}
	assert.Equal(t, []int64{5000, 5250, 5500, 5750, 6000, 6000, 6000, 7000, 7500}, at)

	// A log of milliseconds may leave out a fraction that is zero. It has no whole seconds.
	zeros := textLog("a", lineAt(4.9, "x"), `{"time":5,"ip":"x"}`+"\n", `{"time":5,"ip":"x"}`+"\n", lineAt(5.1, "x"))
	r := runOne(t, Config{Spread: true}, "leaky-bucket 10/1s", zeros)
	assert.Equal(t, 1, r.Policies[0].Refused)
	assert.Zero(t, r.Late)
	assert.False(t, r.Spread)
	assert.Zero(t, r.Whole)

	// Each of several logs is spread by itself.
	whole := textLog("b", strings.Repeat(`{"time":5,"ip":"y"}`+"\n", 4))
	r = runOne(t, Config{Spread: true}, "leaky-bucket 10/1s", whole, zeros, whole)
	assert.Equal(t, 1+4, r.Policies[0].Refused, "4 of y at the instants of the other 4")
	assert.Zero(t, r.Late)
	assert.Equal(t, 8, r.Whole)

	line := `192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1` + "\n"
	log := textLog("a", strings.Repeat(line, 5))
	r = runOne(t, Config{Spread: true}, "leaky-bucket 5/1s", log)
	assert.Zero(t, r.Policies[0].Refused)
	assert.True(t, r.Spread)
	r = runOne(t, Config{}, "leaky-bucket 5/1s", log)
	assert.Equal(t, 4, r.Policies[0].Refused)
	assert.Equal(t, 5, r.Whole)
	assert.False(t, r.Spread)
}
