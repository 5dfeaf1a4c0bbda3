package main

import "time"

// A result is what a trial found out.
type result struct {
	way
	limit   int
	windows []window // those that all nodes have reported
}

func (t *trial) result() result { return result{t.way, t.policy.Limit, t.windows[:t.whole]} }

// add adds up windows.
func (w *window) add(v window) {
	w.granted += v.granted
	w.denied += v.denied
	w.failed += v.failed
	w.dropped += v.dropped
	w.calls += v.calls
	w.took.merge(v.took)
}

// all is what was done in all windows.
func (r result) all() window {
	all := window{took: histogram{}}
	for _, w := range r.windows {
		all.add(w)
	}
	return all
}

// most is the most that was granted in a window.
func (r result) most() int {
	most := 0
	for _, w := range r.windows {
		most = max(most, w.granted)
	}
	return most
}

// granted returns the events granted in a phase, as a share of those that the limit allows. ok is
// false if the phase is not over.
func (r result) granted(phase int) (share float64, ok bool) {
	from, to := phase*phaseWindows, (phase+1)*phaseWindows
	if len(r.windows) < to {
		return 0, false
	}
	n := 0
	for _, w := range r.windows[from:to] {
		n += w.granted
	}
	return float64(n) / float64(r.limit*phaseWindows), true
}

// callsPerDecision is how often the store was asked for each decision.
func (w window) callsPerDecision() float64 {
	return float64(w.calls) / float64(max(w.granted+w.denied+w.failed, 1))
}

func (w window) p50() time.Duration { return w.took.quantile(.5) }
func (w window) p99() time.Duration { return w.took.quantile(.99) }
