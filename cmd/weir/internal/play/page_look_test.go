package play

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A label is a text on a canvas, and where it is.
type label struct {
	Text        string
	Y, From, To float64
}

// labels draws the page anew, and returns what a canvas has then.
func (b *browser) labels(canvas string) (all []label, width float64) {
	b.t.Helper()
	b.js(nil, `(() => {
		const g = document.querySelector(%q).getContext("2d"), { clearRect, fillText } = g;
		window.labels = null;
		g.clearRect = (...args) => { window.labels = []; clearRect.apply(g, args); };
		g.fillText = (text, x, y) => {
			const w = g.measureText(text).width, from = x - { left: 0, center: w / 2, right: w }[g.textAlign];
			labels?.push({ text, y, from, to: from + w });
		};
		document.getElementById("scrub").oninput();
		window.restore = () => { Object.assign(g, { clearRect, fillText }); return g.canvas.clientWidth; };
	})()`, canvas)
	b.until(`labels?.length > 0`)
	b.js(&all, `labels`)
	b.js(&width, `restore()`)
	return all, width
}

// What stands on the axes has room there, and short times are not zero.
func testAxes(t *testing.T, b *browser) {
	texts := func(canvas string) (all []string) {
		labels, width := b.labels(canvas)
		for _, l := range labels {
			assert.GreaterOrEqual(t, l.From, 0.0, l.Text)
			assert.LessOrEqual(t, l.To, width+1, l.Text)
			assert.NotRegexp(t, `\.\d*[mhd]$`, l.Text)
			all = append(all, l.Text)
		}
		return all
	}
	for _, test := range []struct {
		link            string
		traffic, policy []string
	}{
		{"p=fixed-window+123456/1h&r=2&t=10m&b=599s:20,599.5s:20,10m:20", []string{"0m", "1m", "10m", "+20"}, []string{"9m", "123K"}},
		{"p=10/1s&r=1500,0x59&t=10s", []string{"2000", "1s"}, []string{"10s", "10"}},
		{"p=9223372036854775807/1s&r=1&t=1h", []string{"10m", "50m"}, []string{"60m", "9e18"}},
		{"p=calendar-window+1000000/month&r=0.001&t=8784h", []string{"50d", "350d"}, []string{"1M"}},
		{"p=calendar-window+10/day&r=0.01&t=48h", []string{"6h", "48h"}, []string{"12h", "10"}},
		{"p=5/1us&r=1000000&t=1ms", []string{"2M", "0.1ms"}, []string{"5"}},
	} {
		b.follow(test.link)
		b.until(`document.body.dataset.shown`)
		assert.Subset(t, texts("#flow"), test.traffic, test.link)
		assert.Subset(t, texts(".lane canvas"), test.policy, test.link)
	}
	b.until(`document.getElementById("clock").textContent === "1 ms / 1 ms"`)
}

// Labels of bursts and outages that are close to each other do not lie over each other.
func testCloseLabels(t *testing.T, b *browser) {
	b.follow("p=10/1s&r=10&b=1s:20,1.2s:20,1.4s:20,1.5s:20,2s:1000,19.9s:9,20s:11,0s:7&o=3s-4s,3.5s-6s,18s-20s,0s-500ms")
	b.until(`document.body.dataset.shown`)
	labels, _ := b.labels("#flow")
	assert.Greater(t, len(labels), 12)
	for i, l := range labels {
		for _, other := range labels[:i] {
			assert.False(t, l.Y == other.Y && l.From < other.To && other.From < l.To, "%v and %v", l, other)
		}
	}
}

// On a phone, the answer that is shown does not hide the fault of a policy that is typed.
func testFaultIsInSight(t *testing.T, b *browser) {
	defer b.screen(390, 800, 2, true)()
	b.follow("p=10/1s&r=20&t=10s")
	b.until(`document.body.dataset.shown`)
	b.js(nil, `document.querySelector(".lane canvas").focus()`)
	b.press("ArrowRight", 0)
	b.until(`document.getElementById("detail").classList.contains("open")`)
	b.js(nil, `(() => { const e = document.querySelector(".lane .text"); e.value = "10/x"; e.oninput(); })()`)
	b.until(`document.querySelector(".lane [aria-invalid=true]") && !document.getElementById("detail").classList.contains("open")`)
}

// On a low screen, all that is told of an answer can be read beside the lane that has it.
func testAnswerIsInSight(t *testing.T, b *browser) {
	defer b.screen(1366, 600, 1, false)()
	b.follow("p=all(10/1s,+sliding-log+20/5s,+fixed-window+100/1m)&p=10/1s&p=10/1s&r=20&t=10s")
	b.until(`document.body.dataset.shown`)
	b.js(nil, `document.querySelector(".lane canvas").focus()`)
	b.press("ArrowRight", 0)
	b.until(`!document.getElementById("headers").hidden`)
	b.js(nil, `(() => { scrollTo(0, 200); const detail = document.getElementById("detail"); detail.scrollTop = detail.scrollHeight; })()`)
	b.until(`(() => {
		const headers = document.getElementById("headers"), { top, bottom } = headers.getBoundingClientRect();
		return top > 0 && bottom < innerHeight && headers.scrollWidth <= headers.clientWidth;
	})()`)
}

// The name of a field has the words that people read before it, because they call it by these
// words. Each field has a name of its own.
func testNames(t *testing.T, b *browser) {
	b.follow("p=10/1s~5s~5/1s&p=20/1s~5s~5/1s&r=15&t=10s")
	var fields []struct{ Name, Label string }
	b.js(&fields, `[...document.querySelectorAll("#main :is(input, select, canvas)")].map((e) => {
		const text = e.labels?.length ? [...e.labels[0].childNodes].find((n) => n.data?.trim()).data.trim() : "";
		return { name: e.ariaLabel ?? text, label: text };
	})`)
	require.NotEmpty(t, fields)
	seen := make(map[string]bool)
	for _, f := range fields {
		assert.NotEmpty(t, f.Name)
		assert.True(t, strings.HasPrefix(f.Name, f.Label), "%q is read before %q", f.Label, f.Name)
		assert.False(t, seen[f.Name], f.Name)
		seen[f.Name] = true
	}
}
