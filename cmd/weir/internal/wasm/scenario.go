//go:build js && wasm

package main

import (
	"fmt"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
	"github.com/weir-go/weir/cmd/weir/internal/sim"
)

// scenario returns s as the page knows it. Durations and instants are in nanoseconds.
func scenario(s *sim.Scenario) map[string]any {
	var lanes, rates []any
	bursts, outages := []any{}, []any{}
	for _, l := range s.Lanes {
		lane := policy(l.Policy, s.Measure)
		if l.Then != nil {
			lane["then"], lane["at"] = policy(l.Then, s.Measure), float64(l.At)
		}
		lanes = append(lanes, lane)
	}
	for _, r := range s.Rates {
		rates = append(rates, float64(r)/1000)
	}
	for _, b := range s.Bursts {
		bursts = append(bursts, map[string]any{"at": float64(b.At), "n": b.N})
	}
	for _, o := range s.Outages {
		outages = append(outages, map[string]any{"from": float64(o.From), "to": float64(o.To)})
	}
	return map[string]any{
		"query": s.Query(), "span": float64(s.Span), "spanText": sim.FormatDuration(s.Span), "measure": float64(s.Measure), "measureText": sim.FormatDuration(s.Measure),
		"clients": s.Clients.String(), "poisson": s.Poisson,
		"lanes": lanes, "rates": rates, "bursts": bursts, "outages": outages,
	}
}

// policy returns what the page shows of a policy.
func policy(p weir.Policy, measure time.Duration) map[string]any {
	words := []any{}
	for _, w := range explain.Words(p) {
		words = append(words, w)
	}
	d, err := p.Decider()
	limit := 0
	if err == nil {
		state := make([]uint64, d.Words())
		_, look := d.Decide(state, sim.Start.UnixNano(), weir.Ask{})
		limit = look.Limit
	}
	return map[string]any{
		"text": fmt.Sprint(p), "go": explain.Code(p), "words": words, "limit": limit,
		"most": explain.Count(explain.Most(p, measure)),
	}
}
