package play

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
	"github.com/weir-go/weir/internal/suite/runs"
)

// drop drops a log on the page, or its parts.
func (b *browser) drop(parts ...string) {
	encoded := make([]string, len(parts))
	for i, part := range parts {
		encoded[i] = base64.StdEncoding.EncodeToString([]byte(part))
	}
	b.js(nil, `(() => {
		document.getElementById("logSays").textContent = "";
		const data = new DataTransfer();
		%q.split(" ").forEach((part, i) => data.items.add(new File([Uint8Array.from(atob(part), (c) => c.charCodeAt(0))], "access.log" + (i ? "." + i : ""))));
		document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
	})()`, strings.Join(encoded, " "))
}

// A large log says how much of it is read, and one that is cut off counts up to there.
func testLargeLog(t *testing.T, b *browser) {
	b.follow("p=5/1m&r=1")
	zipped := func(lines int) string {
		var log strings.Builder
		z := gzip.NewWriter(&log)
		for i := range lines {
			at := time.Unix(1_800_000_000+int64(i), 0).UTC().Format("02/Jan/2006:15:04:05 -0700")
			fmt.Fprintf(z, "192.0.2.1 - - [%s] \"GET /%d HTTP/1.1\" 200 12 \"-\" \"x\"\n", at, i)
		}
		require.NoError(t, z.Close())
		return log.String()
	}
	b.js(nil, `(() => {
		window.said = [];
		new MutationObserver(() => said.push(document.getElementById("logSays").textContent)).observe(document.getElementById("logSays"), { childList: true });
	})()`)
	b.drop(zipped(runs.Long(60_000, 40_000)))
	b.until(`!document.getElementById("logTable").hidden`)
	var percents []string
	b.js(&percents, `said.filter((s) => /^Reading access.log … \d+ %%$/.test(s))`)
	require.NotEmpty(t, percents)
	assert.NotEqual(t, "Reading access.log … 100 %", percents[0])

	log := zipped(5_000)
	b.drop(log + "junk")
	b.until(`document.getElementById("logSays").textContent.startsWith("access.log: combined, 5,000 lines, 4 bytes after the end of the gzip ignored. 5,000 requests")`)

	b.drop(log[:len(log)-9])
	b.until(`!document.getElementById("logTable").hidden && document.getElementById("logSays").textContent.includes("5,000 requests")`)
	var last string
	b.js(&last, `document.getElementById("logSays").textContent`)
	assert.Contains(t, last, " The rest of the log cannot be read: access.log: after line 5000: the file is cut off: unexpected EOF.")
}

// The log that was chosen can be chosen again, as for other policies: a browser tells only of a
// change.
func testSameLogAgain(t *testing.T, b *browser) {
	var left int
	b.js(&left, `(() => {
		const file = document.getElementById("file"), data = new DataTransfer();
		data.items.add(new File([""], "access.log"));
		file.files = data.files;
		file.addEventListener("click", (e) => e.preventDefault(), { once: true }); // no dialog
		file.click();
		return file.files.length;
	})()`)
	assert.Zero(t, left)
}

// A log that is dropped on the page gives the figures of weir replay.
func testLog(t *testing.T, b *browser) {
	var log strings.Builder
	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for i := range 900 {
		fmt.Fprintf(&log, "192.0.2.%d - - [%s] \"GET /%d HTTP/1.1\" 200 12 \"-\" \"x\"\n", i*i%7, at.Format("02/Jan/2006:15:04:05 -0700"), i)
		at = at.Add(time.Duration(i%3) * time.Second)
	}
	policies := []weir.Policy{weir.TokenBucket{Limit: 5, Per: time.Minute}, weir.SlidingLog{Limit: 10, Per: time.Minute}}
	report, err := replay.Run(context.Background(), replay.Config{Key: "ip", Spread: true}, policies, []replay.Log{{
		Name: "access.log",
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log.String())), nil },
	}})
	require.NoError(t, err)

	b.follow("p=5/1m&p=sliding-log+10/1m&r=1")
	b.drop(log.String())
	b.until(`!document.getElementById("logTable").hidden`)
	var said string
	b.js(&said, `document.getElementById("logSays").textContent`)
	assert.True(t, strings.HasPrefix(said, "access.log: combined, 900 lines. 900 requests of "+explain.Count(report.Clients)+" clients"), said)
	var rows [][]string
	b.js(&rows, `[...document.querySelectorAll("#logRows tr")].map((r) => [...r.cells].map((c) => c.textContent))`)
	require.Len(t, rows, 2)
	for i, p := range report.Policies {
		assert.Positive(t, p.Refused)
		assert.Equal(t, p.Policy, rows[i][0])
		assert.True(t, strings.HasPrefix(rows[i][1], explain.Count(p.Refused)+" ("), rows[i][1])
		assert.True(t, strings.HasPrefix(rows[i][2], explain.Count(p.Hit)+" ("), rows[i][2])
		assert.Equal(t, explain.Count(p.Early), rows[i][3])
		assert.Equal(t, fmt.Sprintf("%s: %s of %s", p.Worst[0].Key, explain.Count(p.Worst[0].Refused), explain.Count(p.Worst[0].Requests)), rows[i][5])
	}

	middle := strings.Index(log.String()[log.Len()/2:], "\n") + log.Len()/2 + 1
	b.drop(log.String()[middle:], log.String()[:middle])
	b.until(`!document.getElementById("logTable").hidden`)
	b.js(&said, `document.getElementById("logSays").textContent`)
	assert.Regexp(t, `^access.log: combined, \d+ lines. access.log.1: combined, \d+ lines. 900 requests of `, said)
	var merged [][]string
	b.js(&merged, `[...document.querySelectorAll("#logRows tr")].map((r) => [...r.cells].map((c) => c.textContent))`)
	assert.Equal(t, rows, merged)

	var prevented bool // a text that is dragged into a field comes there
	b.js(&prevented, `(() => {
		const data = new DataTransfer();
		data.setData("text/plain", "20s");
		const dropped = (kind) => !document.getElementById("span").dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
		return dropped("dragover") || dropped("drop");
	})()`)
	assert.False(t, prevented)
	b.drop("no log at all\n")
	b.until(`document.getElementById("logSays").textContent.length > 0 && !document.getElementById("logSays").textContent.startsWith("Reading")`)
	b.js(&said, `document.getElementById("logSays").textContent`)
	assert.NotContains(t, said, "900")
	var hidden bool
	b.js(&hidden, `document.getElementById("logTable").hidden`)
	assert.True(t, hidden)
}

// The page does not wait for a program that has ended without an answer, as one without memory
// does.
func testLogProgramEnds(t *testing.T, b *browser) {
	site := &Site{files: maps.Clone(b.site.files)}
	site.files["log.wasm"] = site.files["weir.wasm"] // which ends at once: a worker has no document
	server := httptest.NewServer(site.Handler("127.0.0.1"))
	defer server.Close()
	b.origin = server.URL
	b.visit("p=5/1m")
	assert.Empty(t, b.heard())
	b.drop("any")
	b.until(`document.getElementById("logSays").textContent.startsWith("the program for logs has stopped")`)
	assert.Contains(t, b.heard(), "exit code: 2")
}
