package play

import (
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/weir/internal/explain"
	"github.com/weir-go/weir/cmd/weir/internal/sim"
	"github.com/weir-go/weir/internal/suite/runs"
)

// The Tab key reaches everything that can be used, and keys alone do what a mouse does.
func testKeyboard(t *testing.T, b *browser) {
	b.follow("p=10/1s&p=fixed-window+10/1s~5s~5/1s&r=15&t=10s")
	b.showsAt(10 * time.Second)
	var all int
	b.js(&all, `(() => {
		window.reached = new Set();
		document.addEventListener("focusin", (e) => reached.add(e.target));
		window.usable = [...document.querySelectorAll("a, button, input, select, canvas")].filter((e) => !e.disabled && e.checkVisibility());
		return usable.length;
	})()`)
	for range all + 2 {
		b.press("Tab", 0)
	}
	var missed, unnamed []string
	b.js(&missed, `usable.filter((e) => !reached.has(e)).map((e) => e.outerHTML.slice(0, 80))`)
	assert.Empty(t, missed)
	b.js(&unnamed, `usable.filter((e) => !(e.ariaLabel || e.textContent || (e.labels && e.labels.length))).map((e) => e.outerHTML.slice(0, 80))`)
	assert.Empty(t, unnamed, "elements that a screen reader cannot name")

	b.js(nil, `document.querySelector(".lane canvas").focus()`)
	b.press("ArrowRight", 0)
	b.until(`document.querySelector(".lane canvas").getAttribute("aria-valuetext") === "Granted at 0s."`)
	b.press("ArrowRight", 0)
	b.until(`document.getElementById("what").textContent.startsWith("Policy 1. Granted at 66.667ms.")`)
	b.js(nil, `document.getElementById("flow").focus()`)
	b.press("ArrowUp", 0)
	b.until(`location.hash.includes("r=16,15x59")`)
	b.press("Home", 0)
	b.showsAt(0)
	b.press("End", 0)
	b.showsAt(10 * time.Second)
	b.press(" ", 0)
	b.until(`document.getElementById("play").textContent === "Pause"`)
	b.press(" ", 0)
	b.until(`document.getElementById("play").textContent === "Play"`)
	b.js(nil, `document.querySelector("#presets button").focus()`)
	b.press("Enter", 0)
	b.until(`document.querySelectorAll(".lane").length === 3`)
}

// Pointing at an answer tells all of it: what the library says of the same record.
func testEveryAnswer(t *testing.T, b *browser) {
	query := "p=all(10/1s,+sliding-log+20/5s)&p=leaky-bucket+10/1s&r=15&b=3s:30&c=obey&t=10s"
	b.follow(query)
	s, err := sim.Parse(query)
	require.NoError(t, err)
	r, err := sim.New(s)
	require.NoError(t, err)
	require.NoError(t, r.Advance(s.Span))
	b.js(nil, `document.querySelector(".lane canvas").focus()`)
	seen := map[sim.Kind]bool{}
	for i := range r.Records(0) {
		rec := &r.Records(0)[i]
		if rec.Kind == sim.Look {
			continue
		}
		if len(seen) == 2 {
			break
		}
		seen[rec.Kind] = true
		b.press("ArrowRight", 0)
		what, lines := sim.Describe(s.Lanes[0].Policy, rec)
		b.until(`document.getElementById("what").textContent === %s`, quoted("Policy 1. "+what))
		var rows [][]string
		b.js(&rows, `[...document.querySelectorAll("#fields tr")].map((r) => [r.cells[0].textContent, r.cells[1].firstChild.textContent, r.cells[1].lastChild.textContent])`)
		var want [][]string
		for _, l := range lines {
			want = append(want, []string{l.Field, l.Value, l.Words})
		}
		assert.Equal(t, want, rows)
		var headers string
		b.js(&headers, `document.getElementById("headers").textContent`)
		assert.Equal(t, sim.Headers(s.Lanes[0].Policy, rec), headers)
	}
	assert.Len(t, seen, 2, "grants and denials")
	b.mouse("mouseMoved", ".lane:nth-child(2) canvas", 0.5, 0.25)
	b.until(`document.getElementById("what").textContent.startsWith("Policy 2. Granted at ")`)
}

// The buttons copy the policy as Go, as text and as JSON, and the link.
func testCopies(t *testing.T, b *browser) {
	b.follow("p=token-bucket+10/1m+burst=3&r=1")
	b.js(nil, `(() => { window.copied = []; navigator.clipboard.writeText = async (s) => { copied.push(s); }; })()`)
	b.js(nil, `document.querySelectorAll(".lane .tools button").forEach((e) => { if (e.title.startsWith("Copy")) e.click(); })`)
	b.js(nil, `(() => { const e = document.getElementById("link"); e.click(); e.click(); })()`)
	var copied []string
	b.js(&copied, `copied`)
	b.until(`document.getElementById("link").textContent === "Copy a link to all this"`)
	s, err := sim.Parse("p=token-bucket+10/1m+burst=3")
	require.NoError(t, err)
	var href string
	b.js(&href, `location.href`)
	assert.Equal(t, []string{
		"limiter := weir.Must(weir.New(" + explain.Code(s.Lanes[0].Policy) + "))",
		"token-bucket 10/1m burst=3",
		`{"limit":"token-bucket 10/1m burst=3"}`,
		href, href,
	}, copied)
	b.js(nil, `(() => { const e = [...document.querySelectorAll(".lane .tools button")]; e.find((x) => x.textContent === "Change in use").click(); })()`)
	b.until(`location.hash.includes("~10s~token-bucket+5/1m+burst=3")`)
	b.js(nil, `(() => { const e = [...document.querySelectorAll(".then button")]; e.find((x) => x.textContent === "No change").click(); })()`)
	b.until(`!location.hash.includes("~")`)
}

// Without https, browsers have no navigator.clipboard. A button copies all the same.
func testCopiesWithoutHTTPS(t *testing.T, b *browser) {
	defer func(origin string) { b.origin = origin }(b.origin)
	b.origin = strings.Replace(b.origin, "127.0.0.1", "play.test", 1)
	b.visit("p=10/1m&r=1")
	var clipboard string
	b.js(&clipboard, `typeof navigator.clipboard`)
	require.Equal(t, "undefined", clipboard)
	b.js(nil, `(() => { window.said = ""; new MutationObserver((m) => (said += m[0].target.textContent)).observe(document.getElementById("link"), { childList: true }); })()`)
	b.mouse("mousePressed", "#link", 0.5, 0.5)
	b.mouse("mouseReleased", "#link", 0.5, 0.5)
	b.until(`said.startsWith("Copied")`)
	b.js(nil, `(() => { const e = document.getElementById("span"); e.focus(); e.select(); })()`)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "v", "commands": []string{"Paste"}}, nil)
	b.until(`document.getElementById("span").value === location.href`)
}

// On a phone nothing is wider than the screen, and the chosen experiment is in sight.
func testSmallScreen(t *testing.T, b *browser) {
	defer b.screen(390, 800, 2, true)()
	for _, e := range sim.Experiments[:runs.Long(len(sim.Experiments), 3)] {
		b.follow(e.Query)
		var width int
		b.js(&width, `document.documentElement.scrollWidth`)
		assert.LessOrEqual(t, width, 390, e.ID)
		var chosen struct{ Left, Right float64 }
		b.js(&chosen, `document.querySelector("#experiments [aria-pressed=true]").getBoundingClientRect().toJSON()`)
		assert.GreaterOrEqual(t, chosen.Left, 0.0, e.ID)
		assert.LessOrEqual(t, chosen.Right, 390.0, e.ID)
	}
	b.resize(320, 800, 2, true)
	b.until(`document.documentElement.scrollWidth === 320`) // as wide as a page that is enlarged four times
}

// The page that -build writes works on any server of files, also on one that does not know
// WebAssembly.
func testStaticFiles(t *testing.T, b *browser) {
	site, err := theSite()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, site.Write(dir))
	files := http.FileServer(http.Dir(dir))
	typed := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !typed && path.Ext(r.URL.Path) == ".wasm" {
			w.Header().Set("Content-Type", "application/octet-stream")
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	origin := b.origin
	defer func() { b.origin = origin }()
	b.origin = server.URL
	query := sim.Experiments[1].Query
	for _, typed = range []bool{false, true}[:runs.Long(2, 1)] {
		b.visit(query)
		b.showsAt(10 * time.Second)
		assert.Equal(t, simulated(t, query, 10*time.Second), b.shown())
		testLog(t, b)
	}
}

// For people who want no motion, nothing plays by itself, and a playing page moves in steps.
func testReducedMotion(t *testing.T, b *browser) {
	motion := func(value string) {
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-reduced-motion", "value": value}}}, nil)
	}
	motion("reduce")
	defer motion("")
	b.follow("p=1/s&t=1s")
	b.js(nil, `document.querySelector("[data-id=queue]").click()`)
	b.showsAt(20 * time.Second)
	var label string
	b.js(&label, `document.getElementById("play").textContent`)
	assert.Equal(t, "Play", label)
	b.js(nil, `(() => {
		window.instants = [];
		new MutationObserver(() => instants.push(+document.body.dataset.shown)).observe(document.body, { attributes: true });
		document.getElementById("play").click();
	})()`)
	b.until(`+document.body.dataset.shown > 1e9 && +document.body.dataset.shown < 2e10`)
	b.js(nil, `document.getElementById("play").click()`)
	var instants []float64
	b.js(&instants, `instants`)
	for i := 1; i < len(instants); i++ {
		assert.GreaterOrEqual(t, instants[i]-instants[i-1], 0.4e9)
	}
}
