package replay

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// A file whose first lines have no time is opened at once: its requests may be the first.
func TestMergedFileWithoutTimesAtFirst(t *testing.T) {
	a := strings.Repeat("junk\n", orderWindow) + lineAt(1000, "x") + lineAt(1001, "x")
	b := lineAt(1000.5, "y") + lineAt(2000, "y")
	r := runOne(t, Config{Format: "json"}, "sliding-log 1/1m", fileOf("a", []byte(a)), fileOf("b", []byte(b)))
	assert.Zero(t, r.Late)
	assert.Equal(t, 1, r.Policies[0].Refused)
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

	// Those of a log with fractions stay where they are, among the others.
	whole := textLog("b", strings.Repeat(`{"time":5,"ip":"y"}`+"\n", 4))
	r = runOne(t, Config{Spread: true}, "leaky-bucket 8/1s", whole, zeros, whole)
	assert.Equal(t, 2, r.Policies[0].Refused, "both at 5 of x")
	assert.Zero(t, r.Late)
	assert.Equal(t, 8, r.Whole)
	r = runOne(t, Config{Spread: true}, "leaky-bucket 7/1s", whole, zeros, whole)
	assert.Equal(t, 2+4, r.Policies[0].Refused, "8 of y are an eighth of a second apart")

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

// Logs that are merged are spread together, as if they were one: four servers that answer one
// request a second each, from one client.
func TestSpreadOfSeveralLogs(t *testing.T) {
	lines := func(servers int) (all []string) {
		for second := range 60 {
			line := fmt.Sprintf(`192.0.2.1 - - [10/Oct/2026:13:55:%02d +0000] "GET / HTTP/1.1" 200 1`+"\n", second)
			all = append(all, slices.Repeat([]string{line}, servers)...)
		}
		return all
	}
	each := textLog("a", lines(1)...)
	for _, policy := range []string{"token-bucket 10/1s burst=1", "leaky-bucket 4/1s", "leaky-bucket 3/1s", "leaky-bucket 5/2s"} {
		one := runOne(t, Config{Spread: true}, policy, textLog("a", lines(4)...))
		four := runOne(t, Config{Spread: true}, policy, each, each, each, each)
		assert.Equal(t, 240, four.Requests)
		assert.Equal(t, one.Policies, four.Policies)
		assert.Zero(t, four.Late)
	}
	assert.Zero(t, runOne(t, Config{Spread: true}, "token-bucket 10/1s burst=1", each, each, each, each).Policies[0].Refused)
}

// Those of a second come in the order of the logs, and of the lines in each. One that stands too
// far away to be sorted counts at once, and does not divide the second that it comes in.
func TestSpreadKeepsTheOrder(t *testing.T) {
	events := []event{{at: 7e9, whole: true}, {at: 7e9, whole: true}, {at: 3e9, whole: true}, {at: 7.1e9}, {at: 7e9, whole: true}, {at: 7e9, whole: true}, {at: 8e9}}
	s := &spread{from: streamFunc(func() (e event, ok bool) {
		if ok = len(events) > 0; ok {
			e, events = events[0], events[1:]
		}
		return e, ok
	})}
	var at []int64
	for e, ok := s.next(); ok; e, ok = s.next() {
		at = append(at, e.at/1e6)
	}
	assert.Equal(t, []int64{3000, 7000, 7100, 7250, 7500, 7750, 8000}, at)

	line := func(ip string) string { return `{"time":5,"ip":"` + ip + `"}` + "\n" }
	r := runOne(t, Config{Spread: true}, "1/1h", textLog("a", line("a"), line("b")), textLog("b", line("b"), line("c"), line("a")))
	assert.Equal(t, 2, r.Policies[0].Refused)
	assert.Equal(t, []Client{{"a", 2, 1, time.Hour - 800*time.Millisecond}, {"b", 2, 1, time.Hour - 200*time.Millisecond}}, r.Policies[0].Worst)
}
