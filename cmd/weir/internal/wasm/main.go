//go:build js && wasm

// Command wasm is the part of the playground that runs in the browser as WebAssembly: the real
// library, and package sim. The page talks to it through the object weirPlay. All calls return
// promises: a policy with a location reads files, and a call that must return at once cannot.
//
// The page asks for what happens in a frame at once, because a call costs as much as 30 decisions.
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"syscall/js"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/sim"
)

// A page is the simulation that the page shows.
type page struct {
	mu       sync.Mutex
	scenario sim.Scenario
	run      *sim.Run
	sent     []int // the records of each lane that the page has
	loads    int   // how often a scenario was loaded
}

func main() {
	p := new(page)
	var experiments []any
	for _, e := range sim.Experiments {
		s, _ := sim.Parse(e.Query) // a test parses them all
		experiments = append(experiments, map[string]any{
			"id": e.ID, "title": e.Title, "text": e.Text, "query": e.Query, "canonical": s.Query(),
		})
	}
	js.Global().Set("weirPlay", map[string]any{
		"experiments": experiments,
		"load":        p.promising(p.load),
		"advance":     p.promising(p.advance),
		"describe":    p.promising(p.describe),
	})
	js.Global().Get("document").Call("dispatchEvent", js.Global().Get("Event").New("weir"))
	select {}
}

// promising returns f as a function that returns a promise.
func (p *page) promising(f func(args []js.Value) (any, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		var settle js.Func
		settle = js.FuncOf(func(_ js.Value, handlers []js.Value) any {
			go func() {
				defer settle.Release()
				p.mu.Lock()
				defer p.mu.Unlock()
				if value, err := f(args); err != nil {
					handlers[1].Invoke(js.Global().Get("Error").New(err.Error()))
				} else {
					handlers[0].Invoke(value)
				}
			}()
			return nil
		})
		return js.Global().Get("Promise").New(settle)
	})
}

// load begins the simulation of a query. If the query has faults, it returns them, and the page
// stays as it is.
func (p *page) load(args []js.Value) (any, error) {
	s, err := sim.Parse(args[0].String())
	var run *sim.Run
	if err == nil {
		run, err = sim.New(s)
	}
	if err != nil {
		faults := []any{}
		for _, f := range sim.TextErrors(err) {
			faults = append(faults, map[string]any{"lane": f.Lane, "then": f.Then, "byte": f.Byte, "reason": f.Reason})
		}
		return map[string]any{"error": err.Error(), "faults": faults}, nil
	}
	p.scenario, p.run, p.sent = s, run, make([]int, len(s.Lanes))
	p.loads++
	shown := scenario(&s)
	shown["load"] = p.loads
	return shown, nil
}

// advance simulates until an instant, and returns for each lane what is new until the end of what
// is simulated, and the figures at that instant. The page says which scenario it means, by its
// load. It gets null if another has been loaded since.
func (p *page) advance(args []js.Value) (any, error) {
	if p.run == nil || args[1].Int() != p.loads {
		return nil, nil
	}
	at := time.Duration(args[0].Float())
	if err := p.run.Advance(at); err != nil {
		return nil, err
	}
	var lanes []any
	for i := range p.sent {
		f := p.run.Figures(i, at)
		lanes = append(lanes, map[string]any{
			"records": p.fresh(i), "full": p.run.Full(i),
			"granted": f.Granted, "hammered": f.Hammered, "held": f.Held, "denied": f.Denied,
			"waiting": f.Waiting, "busiest": f.Busiest, "longest": float64(f.Longest),
		})
	}
	return lanes, nil
}

// fresh returns the records that the page does not have, as a Uint8Array of four float64 each: at,
// came, remaining, and the kind, plus 8 if the client hammers.
func (p *page) fresh(lane int) js.Value {
	records := p.run.Records(lane)[p.sent[lane]:]
	p.sent[lane] += len(records)
	b := make([]byte, 0, 32*len(records))
	for i := range records {
		r := &records[i]
		kind := float64(r.Kind)
		if r.Hammers {
			kind += 8
		}
		for _, x := range [...]float64{float64(r.At), float64(r.Came), float64(r.Result.Remaining), kind} {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	array := js.Global().Get("Uint8Array").New(len(b))
	js.CopyBytesToJS(array, b)
	return array
}

// describe tells all about a record of a lane. As with advance, the page says which scenario it
// means.
func (p *page) describe(args []js.Value) (any, error) {
	lane, index := args[0].Int(), args[1].Int()
	if args[2].Int() != p.loads {
		return nil, nil
	}
	if p.run == nil || lane < 0 || lane >= len(p.sent) || index < 0 || index >= p.sent[lane] {
		return nil, fmt.Errorf("there is no record %d in lane %d", index, lane)
	}
	r := &p.run.Records(lane)[index]
	policy := p.scenario.Lanes[lane].PolicyAt(r.At)
	what, lines := sim.Describe(policy, r)
	fields := []any{}
	for _, l := range lines {
		fields = append(fields, []any{l.Field, l.Value, l.Words})
	}
	headers := ""
	if r.Kind != sim.Look && r.Kind != sim.Waits { // which have no answer
		headers = sim.Headers(policy, r)
	}
	return map[string]any{"what": what, "fields": fields, "headers": headers}, nil
}
