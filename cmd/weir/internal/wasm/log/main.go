//go:build js && wasm

// Command log is the part of the playground that replays logs. The page loads it only when somebody
// drops logs on the page, because the readers of logs weigh as much as the rest of the playground.
// It runs in a worker, so that the page stays alive. A message to it has the logs and the policies.
// Its answers say how much is read, in percent. The last one has the report as JSON, or an error.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"syscall/js"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/replay"
)

func main() {
	js.Global().Set("onmessage", js.FuncOf(func(_ js.Value, args []js.Value) any {
		data := args[0].Get("data")
		go func() { // which may read files, and so must not block the caller
			report, err := run(data)
			if err != nil {
				js.Global().Call("postMessage", map[string]any{"error": err.Error()})
				return
			}
			js.Global().Call("postMessage", map[string]any{"report": report})
		}()
		return nil
	}))
	js.Global().Call("postMessage", map[string]any{"ready": true})
	select {}
}

// run replays the logs by the policies of the page.
func run(data js.Value) (report string, err error) {
	var policies []weir.Policy
	for i := range data.Get("policies").Length() {
		p, err := weir.ParsePolicy(data.Get("policies").Index(i).String())
		if err != nil {
			return "", err
		}
		policies = append(policies, p)
	}
	var logs []replay.Log
	var parts []*bytes.Reader
	for i := range data.Get("logs").Length() {
		log := data.Get("logs").Index(i)
		b := make([]byte, log.Get("bytes").Get("byteLength").Int())
		js.CopyBytesToGo(b, log.Get("bytes"))
		part := bytes.NewReader(b)
		parts = append(parts, part)
		logs = append(logs, replay.Log{
			Name: log.Get("name").String(),
			Open: func() (io.ReadCloser, error) { return opened{part}, nil },
		})
	}
	r, err := replay.Run(context.Background(), replay.Config{Key: "ip", Spread: true, Progress: telling(parts)}, policies, logs)
	cut := func(f replay.File) bool { return f.Error != "" } // the report says what ended the log early
	if r == nil || err != nil && !slices.ContainsFunc(r.Files, cut) {
		return "", err
	}
	b, err := json.Marshal(r)
	return string(b), err
}

// opened is a log in memory, which is read as a file is.
type opened struct{ *bytes.Reader }

func (opened) Close() error { return nil }

// telling returns what tells the page each second how much of the logs is read.
func telling(parts []*bytes.Reader) func(requests int) {
	var next time.Time
	return func(int) {
		now := time.Now()
		if now.Before(next) {
			return
		}
		next = now.Add(time.Second)
		left, all := 0, 0
		for _, part := range parts {
			left += part.Len()
			all += int(part.Size())
		}
		js.Global().Call("postMessage", map[string]any{"progress": 100 - 100*left/all})
	}
}
