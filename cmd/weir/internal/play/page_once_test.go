package play

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/cmd/weir/internal/sim"
	"github.com/weir-go/weir/internal/suite/runs"
)

// The link to the policies goes there, and leaves the link of the scenario as it is.
func testSkipLink(t *testing.T, b *browser) {
	b.follow("p=10/1s&r=5&t=10s")
	b.until(`location.hash === "#p=10/1s&r=5&t=10s"`)
	b.js(nil, `document.querySelector(".skip").focus()`)
	b.press("Enter", 0)
	b.until(`document.activeElement.id === "lanes"`)
	var hash, fault string
	b.js(&hash, `location.hash`)
	b.js(&fault, `document.getElementById("fault").textContent`)
	assert.Equal(t, "#p=10/1s&r=5&t=10s", hash)
	assert.Empty(t, fault)
}

// A key that removes the button that it is pressed on leaves the focus next to it.
func testFocusStays(t *testing.T, b *browser) {
	b.follow("p=10/1s&p=20/1s&r=15&t=10s&b=1s:5,2s:6")
	b.showsAt(10 * time.Second)
	for _, step := range []struct{ button, focused string }{
		{`document.querySelector("#chips button")`, `document.activeElement.ariaLabel === "Remove +6 at 2.00 s"`},
		{`document.querySelector("#chips button")`, `document.activeElement.id === "outage"`},
		{`document.querySelector(".tools button")`, `document.activeElement.ariaLabel === "When policy 1 changes"`},
		{`document.querySelector(".then button")`, `document.activeElement.textContent === "Change in use"`},
		{`document.querySelector(".tools [aria-label='Remove policy 2']")`, `document.activeElement.ariaLabel === "Policy 1"`},
	} {
		b.js(nil, "%s.focus()", step.button)
		b.press("Enter", 0)
		b.until("%s", step.focused)
	}
}

// Browsers allow few changes of the address in a time, and log or throw an error for more. The last
// of many edits is in the link all the same.
func testManyEdits(t *testing.T, b *browser) {
	b.follow("p=10/1s&r=15&t=10s")
	edits := runs.Long(60, 20)
	var changes int
	b.js(&changes, `new Promise((ok) => {
		let changes = 0, n = 0;
		const replace = history.replaceState, rate = document.getElementById("rate");
		history.replaceState = (...args) => { changes++; replace.apply(history, args); };
		const start = performance.now();
		const edit = () => {
			if (n++ === %d) {
				history.replaceState = replace;
				return ok(changes / (1 + (performance.now() - start) / 500));
			}
			rate.value = n;
			rate.oninput();
			requestAnimationFrame(edit);
		};
		edit();
	}).then((perHalf) => Math.ceil(perHalf))`, edits)
	assert.LessOrEqual(t, changes, 1, "in half a second")
	last := fmt.Sprintf("p=10/1s&r=%d&t=10s", edits)
	b.until(`location.hash === %s`, quoted("#"+last))
	b.showsAt(10 * time.Second)
	assert.Equal(t, simulated(t, last, 10*time.Second), b.shown())
}

// The page shows the last input, however long the library takes for the inputs before.
func testLastOneCounts(t *testing.T, b *browser) {
	first, second := "p=10/1s&r=15&t=10s", "p=5/1s&p=fixed-window+5/1s&p=sliding-log+5/1s&r=15&t=20s"
	edit := `(() => { const e = document.querySelector(".lane .text"); e.value = "7/1s"; e.oninput(); })()`
	for _, test := range []struct{ early, late, want string }{
		{edit, `location.hash = ` + quoted(second), second},
		{`location.hash = ` + quoted(second), edit, strings.Replace(first, "10/1s", "7/1s", 1)},
		{`location.hash = "p=4/1s&t=30s"`, `location.hash = ` + quoted(second), second},
	} {
		b.follow(first)
		b.showsAt(10 * time.Second)
		b.js(nil, `(() => {
			const load = weirPlay.load;
			document.body.dataset.shown = ""; // no other state here has the time of what is wanted
			let slow = 2;
			weirPlay.load = async (query) => {
				const model = await load(query);
				await new Promise((ok) => setTimeout(ok, 100 * slow--));
				return model;
			};
			%s;
			setTimeout(() => { %s; }, 50);
			window.fast = () => { weirPlay.load = load; };
		})()`, test.early, test.late)
		s, err := sim.Parse(test.want)
		assert.NoError(t, err)
		b.showsAt(s.Span)
		b.until(`location.hash === %s`, quoted("#"+s.Query())) // until then it may be that of an earlier one
		b.js(nil, `fast()`)
		assert.Equal(t, simulated(t, test.want, s.Span), b.shown())
	}
}

// A simulation that takes long leaves the page alive: another scenario takes its place.
func testLongSimulation(t *testing.T, b *browser) {
	b.follow("p=10/1s&r=15&t=10s")
	b.showsAt(10 * time.Second)
	b.js(nil, `(() => {
		const advance = weirPlay.advance;
		window.fast = () => { weirPlay.advance = advance; };
		window.slices = 0;
		weirPlay.advance = async (at, load) => {
			slices++;
			for (const start = performance.now(); performance.now() - start < 100;);
			return advance(at, load);
		};
		location.hash = "p=4/1s";
	})()`)
	b.until(`slices > 2 && document.getElementById("clock").textContent.endsWith(" …")`)
	b.js(nil, `fast()`)
	b.follow("p=5/1s&r=15&t=20s")
	b.showsAt(20 * time.Second)
	assert.Equal(t, simulated(t, "p=5/1s&r=15&t=20s", 20*time.Second), b.shown())
}

// While a simulation takes long, the time that is chosen last is shown, and stays.
func testLastTimeCounts(t *testing.T, b *browser) {
	query := "p=10/1s&r=15&t=10s"
	b.follow(query)
	b.showsAt(10 * time.Second)
	b.js(nil, `(() => {
		const advance = weirPlay.advance;
		let ends, waits = new Promise((ok) => { ends = ok; });
		window.late = false;
		window.end = () => { weirPlay.advance = advance; ends(); };
		weirPlay.advance = async (at, load) => {
			const figures = await advance(at, load);
			if (at > 5e9) {
				late = true;
				await waits;
			}
			return figures;
		};
		location.hash = "p=5/1s&t=20s";
	})()`)
	b.until(`late`)
	b.press("Home", 0)
	b.showsAt(0)
	b.js(nil, `end()`)
	b.js(nil, `new Promise((ok) => requestAnimationFrame(() => requestAnimationFrame(ok)))`)
	b.showsAt(0)
	var clock string
	b.js(&clock, `document.getElementById("clock").textContent`)
	assert.Equal(t, "0.00 s / 20.0 s", clock)
	assert.Equal(t, simulated(t, "p=5/1s&t=20s", 0), b.shown())
}

// Half of a surrogate pair is no text that a link can have. It is a fault like others.
func testHalfCharacter(t *testing.T, b *browser) {
	b.follow("p=10/1s&r=5")
	b.js(nil, `(() => { const e = document.querySelector(".lane .text"); e.value = "10/1s \ud800"; e.oninput(); })()`)
	b.until(`document.querySelector(".lane .fault").textContent.includes("At byte 6")`)
}

// The clock goes all the time. A screen reader must not read it out.
func testClockIsSilent(t *testing.T, b *browser) {
	var live string
	b.js(&live, `document.getElementById("clock").ariaLive`)
	assert.Equal(t, "off", live)
}

// Of two logs, the one that is dropped last is replayed.
func testLastLog(t *testing.T, b *browser) {
	b.follow("p=5/1m&r=1")
	b.js(nil, `(() => {
		const drop = (name, text) => {
			const data = new DataTransfer();
			data.items.add(new File([text], name));
			document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
		};
		const line = '{"time":1700000000,"ip":"x"}\n';
		drop("first", line.repeat(300000));
		drop("second", line);
	})()`)
	b.until(`document.getElementById("logSays").textContent.startsWith("second: json, 1 line. 1 request of 1 client")`)
}

// While a policy has a fault, others can be added and removed. The page shows those that there are,
// with the figures of the last scenario without a fault.
func testLanesBesideAFault(t *testing.T, b *browser) {
	typed := func(selector, text string) {
		b.js(nil, `(() => { const e = document.querySelector(%q); e.value = %s; e.oninput(); })()`, selector, quoted(text))
	}
	texts := func() (all []string) {
		b.js(&all, `[...document.querySelectorAll(".lane [id^=lane].text")].map((e) => e.value)`)
		return all
	}
	const at = 10 * time.Second
	b.follow("p=10/1s&p=20/1s&p=30/1s&r=15&t=10s&b=1s:5,2s:6")
	b.showsAt(at)
	typed("#lane1", "10/x")
	b.until(`document.querySelector("#lane1").ariaInvalid === "true"`)
	b.js(nil, `document.querySelector("[aria-label='Remove policy 2']").click()`)
	b.until(`location.hash === "#p=10/1s&p=30/1s&r=15&b=1s:5,2s:6&t=10s"`)
	b.js(nil, `document.querySelector("#presets button").click()`)
	b.js(nil, `document.querySelector("#chips button").click()`)
	b.until(`location.hash === "#p=10/1s&p=30/1s&p=10/1s&r=15&b=2s:6&t=10s"`)
	b.showsAt(at)
	assert.Equal(t, []string{"10/x", "30/1s", "10/1s"}, texts())
	assert.Equal(t, simulated(t, "p=10/1s&p=30/1s&p=10/1s&r=15&b=2s:6&t=10s", at), b.shown())
	b.until(`document.querySelectorAll(".lane [aria-invalid=true]").length === 1 && document.querySelector("#lane1").ariaInvalid === "true"`)

	typed("#lane2", "5/1s") // the page waits for the fault
	typed("#lane1", "11/1s")
	b.until(`location.hash === "#p=11/1s&p=5/1s&p=10/1s&r=15&b=2s:6&t=10s"`)
	typed("#span", "x")
	b.until(`document.getElementById("fault").textContent !== ""`)
	b.js(nil, `document.querySelector("[aria-label='Remove policy 1']").click()`)
	b.until(`location.hash === "#p=5/1s&p=10/1s&r=15&b=2s:6&t=10s"`)
	assert.Equal(t, []string{"5/1s", "10/1s"}, texts())
	b.until(`document.getElementById("fault").textContent.includes('"x" is no duration')`)
}

// Text that is typed into a lane right after the button that removes it has no effect. The last
// lane stays, and there are six at most.
func testLaneThatIsRemoved(t *testing.T, b *browser) {
	b.follow("p=10/1s&p=20/1s&r=15&t=10s")
	b.js(nil, `(() => {
		const [first, second] = [1, 2].map((n) => document.querySelector(`+"`[aria-label='Remove policy ${n}']`"+`)), text = document.querySelector("#lane2");
		second.click();
		text.value = "30/1s";
		text.oninput();
		first.click();
	})()`)
	b.until(`location.hash === "#p=10/1s&r=15&t=10s"`)
	b.js(nil, `(() => { for (let i = 0; i < 9; i++) document.querySelector("#presets button").click(); })()`)
	b.until(`document.querySelectorAll(".lane").length === 6 && document.getElementById("fault").textContent === ""`)
}

// A number that the page cannot use is a fault, or the field shows the one that is used.
func testNumbersOutOfRange(t *testing.T, b *browser) {
	b.follow("p=10/1s&r=5&t=10s")
	b.showsAt(10 * time.Second)
	rate := func(text string) {
		b.js(nil, `(() => { const e = document.getElementById("rate"); e.focus(); e.value = %q; e.oninput(); })()`, text)
	}
	rate("-5")
	b.until(`document.getElementById("fault").textContent.includes('"-5" is no rate, must be requests a second')`)
	rate("") // the last one that was good
	b.until(`document.getElementById("fault").textContent === "" && location.hash === "#p=10/1s&r=5&t=10s"`)
	b.js(nil, `(() => { const e = document.getElementById("span"); e.focus(); e.value = " 20s "; e.oninput(); })()`) // pasted
	b.until(`location.hash === "#p=10/1s&r=5&t=20s"`)
	for text, n := range map[string]string{"1000000000": "5000", "-3": "1", "": "20", "2.6": "3"} {
		b.follow("p=10/1s&r=5&t=10s")
		b.showsAt(10 * time.Second)
		b.js(nil, `(() => { document.getElementById("burstSize").value = %q; document.getElementById("burst").click(); })()`, text)
		b.until(`location.hash === "#p=10/1s&r=5&b=5s:%s&t=10s" && document.getElementById("burstSize").value === %q`, n, n)
	}
}

// A burst, or an outage, that is too much is told and goes again. All else can be changed as before.
func testTooMuch(t *testing.T, b *browser) {
	const bursts, outages = 10, 20
	for _, c := range []struct{ button, most, fault string }{
		{"outage", "p=10/1s&r=0&o=1s-2s" + strings.Repeat(",1s-2s", outages-1) + "&t=10s", "the number of outages is 21, must be 0 to 20"},
		{"burst", "p=10/1s&r=0&b=1s:5000" + strings.Repeat(",1s:5000", bursts-1) + "&t=10s", "the number of requests is 50001, must be 0 to 50000"},
	}[:runs.Long(2, 1)] { // all these requests are drawn many times
		b.follow(c.most)
		b.showsAt(10 * time.Second)
		b.js(nil, `document.getElementById(%q).click()`, c.button)
		b.until(`document.getElementById("fault").textContent === %q`, c.fault)
		b.js(nil, `(() => { const e = document.getElementById("clients"); e.value = "obey"; e.onchange(); })()`)
		b.until(`location.hash === "#%s" && document.getElementById("fault").textContent === ""`, strings.Replace(c.most, "&t", "&c=obey&t", 1))
		b.until(`document.querySelectorAll("#chips button").length === %d`, map[string]int{"outage": outages, "burst": bursts}[c.button])
	}
}
