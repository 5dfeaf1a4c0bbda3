package play

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What stands on the axes has room there, and short times are not zero.
func testAxes(t *testing.T, b *browser) {
	texts := func(canvas string) (all []string) {
		b.js(&all, `(() => {
			const g = document.querySelector(%q).getContext("2d"), write = g.fillText, all = [];
			g.fillText = (text, x, y) => {
				const w = g.measureText(text).width, from = x - { left: 0, center: w / 2, right: w }[g.textAlign];
				all.push(from < 0 || from + w > g.canvas.clientWidth + 1 ? "cut: " + text : text);
			};
			document.getElementById("scrub").oninput();
			return new Promise((ok) => setTimeout(() => { g.fillText = write; ok(all); }, 300));
		})()`, canvas)
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
		traffic, policy := texts("#flow"), texts(".lane canvas")
		assert.Subset(t, traffic, test.traffic, test.link)
		assert.Subset(t, policy, test.policy, test.link)
		for _, text := range append(traffic, policy...) {
			assert.NotContains(t, text, "cut", test.link)
			assert.NotRegexp(t, `\.\d*[mhd]$`, text, test.link)
		}
	}
	b.until(`document.getElementById("clock").textContent === "1 ms / 1 ms"`)
}

// Labels of bursts and outages that are close to each other do not lie over each other.
func testCloseLabels(t *testing.T, b *browser) {
	b.follow("p=10/1s&r=10&b=1s:20,1.2s:20,1.4s:20,1.5s:20,2s:1000,19.9s:9,20s:11,0s:7&o=3s-4s,3.5s-6s,18s-20s,0s-500ms")
	b.until(`document.body.dataset.shown`)
	var over []string
	b.js(&over, `(() => {
		const g = document.getElementById("flow").getContext("2d"), write = g.fillText, over = [], boxes = [];
		g.fillText = (text, x, y) => {
			const w = g.measureText(text).width, from = x - { left: 0, center: w / 2, right: w }[g.textAlign];
			for (const b of boxes) if (b.y === y && from < b.to && b.from < from + w) over.push(b.text + " and " + text);
			boxes.push({ text, y, from, to: from + w });
		};
		document.getElementById("scrub").oninput();
		return new Promise((ok) => setTimeout(() => { g.fillText = write; ok(boxes.length > 12 ? over : ["too few"]); }, 300));
	})()`)
	assert.Empty(t, over)
}

// On a phone, the answer that is shown does not hide the fault of a policy that is typed.
func testFaultIsInSight(t *testing.T, b *browser) {
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": true}, nil)
	defer b.call("Emulation.clearDeviceMetricsOverride", nil, nil)
	b.follow("p=10/1s&r=20&t=10s")
	b.until(`document.body.dataset.shown`)
	b.js(nil, `document.querySelector(".lane canvas").focus()`)
	b.press("ArrowRight", 0)
	b.until(`document.getElementById("detail").classList.contains("open")`)
	b.js(nil, `(() => { const e = document.querySelector(".lane .text"); e.value = "10/x"; e.oninput(); })()`)
	b.until(`document.querySelector(".lane [aria-invalid=true]") && !document.getElementById("detail").classList.contains("open")`)
}
