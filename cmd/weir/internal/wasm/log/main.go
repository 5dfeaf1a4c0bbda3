//go:build js && wasm

// Command log is the part of the playground that replays a log. The page loads it only when
// somebody drops one, because the readers of logs weigh as much again. It runs in a worker, so that
// the page stays alive. A message has the log and the policies. The answers have how much is read,
// in percent, and at the end the report as JSON.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
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

// run replays a log by the policies of the page.
func run(data js.Value) (report string, err error) {
	log := make([]byte, data.Get("log").Get("byteLength").Int())
	js.CopyBytesToGo(log, data.Get("log"))
	var policies []weir.Policy
	for i := range data.Get("policies").Length() {
		p, err := weir.ParsePolicy(data.Get("policies").Index(i).String())
		if err != nil {
			return "", err
		}
		policies = append(policies, p)
	}
	left := bytes.NewReader(log)
	var next time.Time // when the progress is told again
	progress := func(int) {
		if now := time.Now(); !now.Before(next) {
			next = now.Add(time.Second)
			js.Global().Call("postMessage", map[string]any{"progress": 100 - 100*left.Len()/len(log)})
		}
	}
	r, err := replay.Run(context.Background(), replay.Config{Key: "ip", Spread: true, Progress: progress}, policies, []replay.Log{{
		Name: data.Get("name").String(),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(left), nil },
	}})
	if r == nil || err != nil && r.Files[0].Error == "" { // else the report says what ended the log early
		return "", err
	}
	b, err := json.Marshal(r)
	return string(b), err
}
