package play

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
	"github.com/weir-go/weir/cmd/weir/internal/sim"
	"github.com/weir-go/weir/internal/suite/runs"
)

// figures are the numbers below a lane, by their names.
type figures map[string]string

// shown are the figures of all lanes.
func (b *browser) shown() (lanes []figures) {
	b.t.Helper()
	b.js(&lanes, `[...document.querySelectorAll(".lane")].map((l) => Object.fromEntries(
		[...l.querySelectorAll(".figures div")].map((d) => [d.dataset.name, d.querySelector("dd").textContent])))`)
	return lanes
}

// simulated are the figures that the library gives for a query, until an instant.
func simulated(t testing.TB, query string, at time.Duration) (lanes []figures) {
	t.Helper()
	s, err := sim.Parse(query)
	require.NoError(t, err)
	r, err := sim.New(s)
	require.NoError(t, err)
	require.NoError(t, r.Advance(at))
	for i, l := range s.Lanes {
		f := r.Figures(i, at)
		worst := explain.Count(explain.Most(l.Policy, s.Measure))
		if l.Then != nil {
			worst += ", then " + explain.Count(explain.Most(l.Then, s.Measure))
		}
		lane := figures{
			"granted": explain.Count(f.Granted), "denied": explain.Count(f.Denied),
			"most in any " + sim.FormatDuration(s.Measure) + ", at worst " + worst: explain.Count(f.Busiest),
		}
		if s.Clients == sim.Mixed {
			lane["of them to clients that hammer"] = explain.Count(f.Hammered)
		}
		if s.Clients == sim.Wait {
			lane["held back"], lane["waiting"] = explain.Count(f.Held), explain.Count(f.Waiting)
		}
		if f.Longest > 0 {
			lane["longest wait"] = strconv.FormatFloat(f.Longest.Seconds(), 'f', decimals(f.Longest), 64) + " s"
			if f.Longest < 10*time.Millisecond {
				lane["longest wait"] = strconv.FormatFloat(float64(f.Longest.Round(time.Microsecond))/1e6, 'f', -1, 64) + " ms"
			}
		}
		lanes = append(lanes, lane)
	}
	return lanes
}

func decimals(d time.Duration) int {
	if d < 10*time.Second {
		return 2
	}
	return 1
}

// showsAll waits until the page shows an instant.
func (b *browser) showsAt(at time.Duration) {
	b.t.Helper()
	b.until(`document.body.dataset.shown === "%d"`, at)
}

// The tests of the page are shared by the browsers, each of which waits for its page most of the
// time, and takes the next test when it has done one. A browser takes as much processor time as the
// tests of ten other packages. Unless the run is long, there is one browser, and the dear tests are
// left out.
func TestPage(t *testing.T) {
	runs.SkipDear(t)
	type test struct {
		name string
		run  func(*testing.T, *browser)
	}
	tests := []test{
		{"log", testLog},
		{"experiments", testExperiments},
		{"faults", testFaults},
		{"keyboard", testKeyboard},
		{"same log again", testSameLogAgain},
		{"skip link", testSkipLink},
		{"names", testNames},
		{"focus stays", testFocusStays},
		{"last time counts", testLastTimeCounts},
		{"half a character", testHalfCharacter},
		{"clock is silent", testClockIsSilent},
		{"last log", testLastLog},
		{"too much", testTooMuch},
		{"close labels", testCloseLabels},
		{"fault is in sight", testFaultIsInSight},
		{"answer is in sight", testAnswerIsInSight},
	}
	dear := []test{
		{"small screen", testSmallScreen},
		{"copies", testCopies},
		{"drawing", testDrawing},
		{"every answer", testEveryAnswer},
		{"lane that is removed", testLaneThatIsRemoved},
		{"lanes beside a fault", testLanesBesideAFault},
		{"shared link", testSharedLink},
		{"playing", testPlaying},
		{"large log", testLargeLog},
		{"many edits", testManyEdits},
		{"last one counts", testLastOneCounts},
		{"long simulation", testLongSimulation},
		{"numbers out of range", testNumbersOutOfRange},
		{"axes", testAxes},
		{"reduced motion", testReducedMotion},
		{"static files", testStaticFiles},
		{"copies without https", testCopiesWithoutHTTPS},
		{"log program ends", testLogProgramEnds}, // the last, because no log can be read after it
	}
	if runs.Long(true, false) {
		tests = append(tests, dear...)
	}
	queue := make(chan test, len(tests))
	for _, test := range tests {
		queue <- test
	}
	close(queue)
	for i := range runs.Long(2, 1) {
		t.Run("browser "+strconv.Itoa(1+i), func(t *testing.T) {
			t.Parallel()
			b := open(t)
			b.visit("")
			for test := range queue {
				t.Run(test.name, func(t *testing.T) {
					b.t = t
					// Keys are those of the element with the focus, which another test may have left there.
					b.js(nil, `document.activeElement?.blur()`)
					test.run(t, b)
				})
			}
			b.t = t
		})
	}
}

// Every experiment runs when its button is pressed, and shows the numbers of the library.
func testExperiments(t *testing.T, b *browser) {
	for _, e := range sim.Experiments[:runs.Long(len(sim.Experiments), 3)] {
		s, err := sim.Parse(e.Query)
		require.NoError(t, err)
		b.js(nil, `document.querySelector('[data-id=%s]').click()`, e.ID)
		b.until(`document.getElementById("lesson").textContent === %s`, quoted(e.Text))
		b.until(`document.getElementById("play").textContent === "Pause"`)
		b.js(nil, `document.getElementById("play").click()`)
		for _, share := range []int{500, 1000} {
			b.js(nil, `(() => { const s = document.getElementById("scrub"); s.value = %d; s.oninput(); })()`, share)
			at := s.Span * time.Duration(share) / 1000
			b.showsAt(at)
			assert.Equal(t, simulated(t, e.Query, at), b.shown(), "%s at %v", e.ID, at)
		}
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string is never an error
	return string(b)
}

// A link opens the same state in another page, and the link is the canonical one.
func testSharedLink(t *testing.T, b *browser) {
	query := "p=sliding-window+5/1s~2500ms~5/1s&p=all(5/1s,+20/10s)&r=3x4,12x8,2x8&x=poisson&b=2s:12&o=4s-5s&c=mixed&t=12s&m=2s"
	s, err := sim.Parse(query)
	require.NoError(t, err)
	b.follow(query)
	b.showsAt(s.Span)
	hash := "#" + s.Query()
	b.until(`location.hash === %s`, quoted(hash))
	assert.Equal(t, simulated(t, query, s.Span), b.shown())
	state := `[...document.querySelectorAll("#main :is(input, select)")].map((e) => e.value)`
	var first, second []string
	b.js(&first, "%s", state)
	b.visit(hash[1:])
	b.showsAt(s.Span)
	b.js(&second, "%s", state)
	assert.Equal(t, first, second)
	assert.Contains(t, first, "sliding-window 5/1s")
	assert.Contains(t, first, "2.5s")

	b.visit(strings.Repeat("p=nonsense&", 10_000))
	b.until(`document.getElementById("fault").textContent.includes("the number of policies is 10000, must be 1 to 6")`)
	b.visit("p=nonsense")
	b.until(`document.getElementById("fault").textContent.includes("cannot be shown")`)
	b.showsAt(15 * time.Second)
	assert.Equal(t, simulated(t, sim.Experiments[0].Query, 15*time.Second), b.shown())

	// To read a location, the library looks for files, which a browser does not have.
	b.js(nil, `location.hash = "p=calendar-window+5/minute+location=Europe/Berlin"`)
	b.until(`document.getElementById("fault").textContent.includes("Europe/Berlin")`)

	// Text that was typed in a field goes when another link is opened.
	b.follow("p=10/1s&r=5&t=10s")
	b.js(nil, `document.getElementById("lane1").focus()`)
	b.follow("p=7/1s&r=5&t=10s")
	b.until(`document.getElementById("lane1").value === "7/1s"`)

	// Without a link the page shows the first experiment, as when it is opened.
	b.follow("p=10/1s&r=5&t=10s")
	b.js(nil, `location.hash = ""`)
	b.until(`document.getElementById("fault").textContent === "" && location.hash.startsWith("#p=fixed-window")`)
	b.showsAt(15 * time.Second)
	assert.Equal(t, simulated(t, sim.Experiments[0].Query, 15*time.Second), b.shown())
}

// A fault in a policy is marked at its byte, and the lanes stay as they were.
func testFaults(t *testing.T, b *browser) {
	b.follow("p=10/1s&p=fixed-window+10/1s~5s~10/2s&r=5")
	before := b.shown()
	for input, text := range map[int]string{0: "fixed-window 10/", 2: "10/1s über=3", 3: "all(5/1s, 7/x)"} {
		_, err := weir.ParsePolicy(text)
		fault, ok := explain.FaultOf(text, err)
		require.True(t, ok)
		b.js(nil, `(() => { const e = document.querySelectorAll(".lane .text")[%d]; e.value = %s; e.oninput(); })()`, input, quoted(text))
		b.until(`document.querySelectorAll('.lane [aria-invalid=true]').length > 0`)
		var before, marked, said string
		b.js(&before, `document.querySelector(".lane .fault code").firstChild.textContent`)
		b.js(&said, `[...document.querySelectorAll(".lane .fault")].map((e) => e.textContent).join("")`)
		b.js(&marked, `document.querySelector(".lane .fault mark").textContent`)
		assert.Equal(t, map[int]string{0: "⌃", 2: "über=3", 3: "x"}[input], marked)
		assert.Equal(t, fault.Byte, len(before), text)
		assert.Equal(t, text[:fault.Byte], before)
		assert.Contains(t, said, fault.Reason)
		b.js(nil, `(() => { const e = document.querySelectorAll(".lane .text")[%d]; e.value = %s; e.oninput(); })()`, input,
			quoted([]string{"10/1s", "", "fixed-window 10/1s", "10/2s"}[input]))
		b.until(`document.querySelectorAll('.lane [aria-invalid=true]').length === 0`)
	}
	assert.Equal(t, before, b.shown())
	b.js(nil, `(() => { const e = document.getElementById("lane1"); e.value = "calendar-window 10/day location=Europe/Berlin"; e.oninput(); })()`)
	b.until(`document.querySelector(".lane .fault").textContent.endsWith("a browser has no database of time zones: without location=, a calendar is in UTC")`)
}

// The link has the traffic that was drawn, and a burst.
func testDrawing(t *testing.T, b *browser) {
	b.follow("p=10/1s&r=5&t=10s")
	b.mouse("mousePressed", "#flow", 0.3, 0.2)
	b.mouse("mouseMoved", "#flow", 0.6, 0.2)
	b.mouse("mouseReleased", "#flow", 0.6, 0.2)
	b.until(`location.hash.includes("5x")`)
	b.js(nil, `document.getElementById("burst").click()`)
	b.until(`location.hash.includes("b=5s:20")`)
	b.js(nil, `document.getElementById("outage").click()`)
	b.until(`location.hash.includes("o=5s-5.5s")`)
	b.showsAt(10 * time.Second)
	var hash string
	b.js(&hash, `location.hash`)
	s, err := sim.Parse(hash[1:])
	require.NoError(t, err)
	assert.Len(t, s.Rates, 60)
	assert.Equal(t, int64(5000), s.Rates[0])
	assert.Greater(t, s.Rates[30], s.Rates[0])
	assert.Equal(t, simulated(t, hash[1:], 10*time.Second), b.shown())
	b.js(nil, `document.querySelector("#chips button").click()`)
	b.until(`!location.hash.includes("b=")`)

	// A burst at a time that is not round is seen at that time.
	b.follow("p=100/1s&r=0.35&t=20s")
	b.showsAt(20 * time.Second)
	for _, at := range []time.Duration{0, 2857142858} {
		b.js(nil, `document.getElementById("step").click()`)
		b.showsAt(at)
	}
	b.js(nil, `document.getElementById("burst").click()`)
	b.until(`document.querySelector(".figures .granted dd").textContent === "22"`)
	b.until(`location.hash.includes("b=2.84s:20")`)
}

// Playing shows instants one after the other, from the start to the end. Pausing stops it.
func testPlaying(t *testing.T, b *browser) {
	query := "p=10/1s&p=fixed-window+10/1s&r=15&t=6s"
	b.follow(query)
	b.js(nil, `document.getElementById("play").click()`)
	b.until(`+document.body.dataset.shown < 5.9e9`)
	b.until(`+document.body.dataset.shown > 1e9`)
	b.js(nil, `document.getElementById("play").click()`)
	b.js(nil, `new Promise((ok) => requestAnimationFrame(() => requestAnimationFrame(ok)))`)
	var at int64
	b.js(&at, `+document.body.dataset.shown`)
	assert.Equal(t, simulated(t, query, time.Duration(at)), b.shown())
	b.js(nil, `document.getElementById("step").click()`)
	b.until(`+document.body.dataset.shown > %d && +document.body.dataset.shown < 6e9`, at)
	b.js(&at, `+document.body.dataset.shown`)
	assert.Equal(t, simulated(t, query, time.Duration(at)), b.shown())
}
