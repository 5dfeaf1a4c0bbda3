package play

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// theSite is built once for all tests: four go commands look at the source each time.
var theSite = sync.OnceValues(func() (*Site, error) { return NewSite(context.Background()) })

// A browser is a Chromium with one page. It is driven by Chrome's protocol over two pipes, which
// needs no other module.
type browser struct {
	t       testing.TB
	in      *os.File
	session string
	site    *Site
	origin  string // of the playground
	visits  int
	loaded  chan struct{} // of a visit

	mu      sync.Mutex
	next    int
	replies map[int]chan message
	said    []string // errors of the page, and what it writes to the console
}

type message struct {
	ID        int             `json:"id"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	Result    json.RawMessage `json:"result"`
	SessionID string          `json:"sessionId"`
	Error     *struct{ Message string }
}

// patience is how long the browser may take for anything. Machines are noisy.
const patience = 2 * time.Minute

// open starts a browser and a server of the playground. At the end, the page must have written
// nothing to the console.
func open(t testing.TB) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "with CI=true no test may be skipped: install chromium")
		t.Skip("needs chromium: install chromium")
	}
	server := httptest.NewUnstartedServer(nil)
	t.Cleanup(server.Close) // after the browser
	theirIn, in, err := os.Pipe()
	require.NoError(t, err)
	out, theirOut, err := os.Pipe()
	require.NoError(t, err)
	// With liftoff alone, the browser does not compile each program a second time.
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
		"--remote-debugging-pipe", "--js-flags=--liftoff-only", "--host-resolver-rules=MAP play.test 127.0.0.1", "--user-data-dir="+t.TempDir(), "--window-size=1240,900", "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	require.NoError(t, cmd.Start())
	require.NoError(t, theirIn.Close())
	require.NoError(t, theirOut.Close())
	b := &browser{t: t, in: in, replies: make(map[int]chan message), loaded: make(chan struct{}, 9)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(out)
	}()
	t.Cleanup(func() {
		b.call("Browser.close", nil, nil)
		<-read
		_ = in.Close()
		_ = cmd.Wait()
		assert.Empty(t, b.heard())
	})

	b.site, err = theSite() // is built while the browser starts
	require.NoError(t, err)
	server.Config.Handler = b.site.Handler("play.test")
	server.Start()
	b.origin = server.URL

	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// read takes what the browser sends until it ends.
func (b *browser) read(out *os.File) {
	defer out.Close()
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0:
			b.replies[m.ID] <- m
			delete(b.replies, m.ID)
		case m.Method == "Page.loadEventFired":
			select {
			case b.loaded <- struct{}{}:
			default: // nobody visits so many pages at a time
			}
		case m.Method == "Runtime.exceptionThrown", m.Method == "Runtime.consoleAPICalled", m.Method == "Log.entryAdded":
			b.said = append(b.said, string(m.Params))
		}
		b.mu.Unlock()
	}
}

// heard returns what the page has written to the console since the last call.
func (b *browser) heard() (said string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	said, b.said = strings.Join(b.said, "\n"), nil
	return said
}

// call calls a method of the protocol.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	reply := make(chan message, 1)
	b.mu.Lock()
	b.next++
	b.replies[b.next] = reply
	request := map[string]any{"id": b.next, "method": method}
	b.mu.Unlock()
	if params != nil {
		request["params"] = params
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		request["sessionId"] = b.session
	}
	line, err := json.Marshal(request)
	require.NoError(b.t, err)
	_, err = b.in.Write(append(line, 0))
	require.NoError(b.t, err)
	select {
	case m := <-reply:
		require.Nil(b.t, m.Error, method)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(m.Result, result))
		}
	case <-time.After(patience):
		require.FailNow(b.t, "no reply to "+method)
	}
}

// js evaluates an expression, which may be a promise, and reads its value into result.
func (b *browser) js(result any, format string, args ...any) {
	b.t.Helper()
	var reply struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	expression := fmt.Sprintf(format, args...)
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &reply)
	require.Empty(b.t, string(reply.ExceptionDetails), expression)
	if result != nil {
		require.NoError(b.t, json.Unmarshal(reply.Result.Value, result), expression)
	}
}

// until waits until an expression is true.
func (b *browser) until(format string, args ...any) {
	b.t.Helper()
	expression := fmt.Sprintf(format, args...)
	b.js(nil, `new Promise((ok, fail) => {
		const until = performance.now() + %d;
		const look = () => (%s) ? ok() : performance.now() > until ? fail(new Error("not so in time")) : setTimeout(look, 10);
		look();
	})`, (patience / 2).Milliseconds(), expression)
}

// visit opens a link of the playground in a fresh page, and waits until all of it is shown.
func (b *browser) visit(fragment string) {
	b.t.Helper()
	b.visits++
	b.call("Page.navigate", map[string]any{"url": fmt.Sprintf("%s/?%d#%s", b.origin, b.visits, fragment)}, nil)
	select {
	case <-b.loaded:
	case <-time.After(patience):
		require.FailNow(b.t, "the page was not loaded")
	}
	b.until(`document.body.dataset.shown && location.hash.length > 1`)
}

// follow opens a link in the page that is there.
func (b *browser) follow(fragment string) {
	b.t.Helper()
	b.js(nil, `(() => {
		if (location.hash.slice(1) === %[1]s) return;
		document.body.dataset.shown = "";
		location.hash = %[1]s;
	})()`, quoted(fragment))
	b.until(`document.body.dataset.shown !== "" && location.hash.length > 1`)
}

// screen gives the page another screen until restore is called. That waits until the page has drawn
// itself for the screen that it had before: the next test may measure what is drawn.
func (b *browser) screen(width, height, scale int, mobile bool) (restore func()) {
	b.t.Helper()
	var before int
	b.js(&before, `innerWidth`)
	b.resize(width, height, scale, mobile)
	return func() {
		b.t.Helper()
		b.call("Emulation.clearDeviceMetricsOverride", nil, nil)
		b.until(`innerWidth === %d`, before)
		b.js(nil, `new Promise((ok) => requestAnimationFrame(() => requestAnimationFrame(ok)))`)
	}
}

// resize changes the screen that the page was given.
func (b *browser) resize(width, height, scale int, mobile bool) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile}, nil)
}

// press presses a key.
func (b *browser) press(key string, modifiers int) {
	b.t.Helper()
	params := map[string]any{"type": "keyDown", "key": key, "code": key, "modifiers": modifiers}
	codes := map[string]int{"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}
	params["windowsVirtualKeyCode"] = codes[key]
	if key == "Enter" || key == " " {
		params["text"] = map[string]string{"Enter": "\r", " ": " "}[key]
	}
	b.call("Input.dispatchKeyEvent", params, nil)
	params["type"] = "keyUp"
	delete(params, "text")
	b.call("Input.dispatchKeyEvent", params, nil)
}

// mouse moves, presses or releases the mouse at a place of an element, in parts of its size.
func (b *browser) mouse(kind, selector string, x, y float64) {
	b.t.Helper()
	var box struct{ X, Y, Width, Height float64 }
	b.js(&box, `(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"}); return e.getBoundingClientRect().toJSON(); })()`, selector)
	params := map[string]any{"type": kind, "x": box.X + box.Width*x, "y": box.Y + box.Height*y, "button": "left", "clickCount": 1, "buttons": 1}
	if kind == "mouseMoved" && x >= 0 {
		params["buttons"] = 1
	}
	b.call("Input.dispatchMouseEvent", params, nil)
}
