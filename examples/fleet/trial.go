package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// A trial is a way under the load.
type trial struct {
	way
	policy weir.FixedWindow
	store  address
	out    io.Writer

	news    chan news
	nodes   [nodes]*process // those that were started last
	running int             // processes whose end is not in the news yet
	begin   int64           // the first window; 0 before that is known
	windows [allWindows]window
	whole   int  // so many windows have been reported by all nodes
	kills   bool // they have been made,
	starts  bool // and also those after them
}

// A window is what all nodes together did in a window of the limit.
type window struct {
	granted, denied, failed, dropped, calls int
	took                                    histogram
}

// run starts the nodes, gives them their load, and ends them. It ends early if ctx does.
func (t *trial) run(ctx context.Context) (err error) {
	t.news = make(chan news)
	for i := range t.windows {
		t.windows[i].took = histogram{}
	}
	fmt.Fprintf(t.out, "\n%s: %s\n", t.name, t.does)
	defer func() {
		if endErr := t.end(); err == nil {
			err = endErr
		}
	}()
	for i := range t.nodes {
		if err := t.start(i); err != nil {
			return err
		}
	}
	pulse := time.NewTicker(t.policy.Per / 20)
	defer pulse.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-t.news:
			if err := t.note(n); err != nil {
				return err
			}
			continue
		case <-pulse.C:
		}
		now := time.Now()
		if t.begin == 0 {
			if slices.Contains(t.ready(), false) {
				continue
			}
			// The nodes rest for a window, because shares count from the second one on.
			t.begin = windowOf(now, t.policy.Per) + 2
		}
		passed := float64(now.Sub(windowStart(t.begin, t.policy.Per))) / float64(t.policy.Per)
		if passed >= allWindows && t.starts && !slices.Contains(t.ready(), false) {
			return nil // on a machine that stood still, what was to happen has happened late
		}
		if err := t.step(passed); err != nil {
			return err
		}
	}
}

// step does what is due when so many windows have passed.
func (t *trial) step(passed float64) error {
	if passed < 0 {
		return nil
	}
	if passed >= killAt && !t.kills {
		t.kills = true
		for _, i := range victims {
			t.nodes[i].kill()
		}
	}
	if passed >= startAt && !t.starts {
		t.starts = true
		for _, i := range victims {
			if err := t.start(i); err != nil {
				return err
			}
		}
	}
	all := overload * float64(t.policy.Limit) / t.policy.Per.Seconds()
	for i, perSecond := range loads(passed, all, t.ready()) {
		t.nodes[i].setLoad(perSecond)
	}
	return nil
}

func (t *trial) start(i int) error {
	p, err := start(job{Way: t.name, Policy: t.policy, Node: i, Nodes: nodes, Store: t.store}, t.news)
	if err == nil {
		t.nodes[i] = p
		t.running++
	}
	return err
}

func (t *trial) ready() []bool {
	ready := make([]bool, nodes)
	for i, p := range t.nodes {
		ready[i] = p.ready && !p.killed
	}
	return ready
}

// note takes up what a node reports. It is a fault if a node ends, unless it was killed, or was
// asked to end and ended without an error.
func (t *trial) note(n news) error {
	if n.gone != nil {
		t.running--
		switch {
		case n.killed:
			fmt.Fprintf(t.out, "      %v is gone: %v\n", n.process, n.gone)
		case !n.ending || n.gone != errEnded:
			return fmt.Errorf("%v is gone: %w", n.process, n.gone)
		}
		return nil
	}
	if !n.ready {
		n.ready = true
		if t.starts {
			fmt.Fprintf(t.out, "      %v is back\n", n.process)
		}
	}
	n.until = n.Until
	for w, granted := range n.Granted {
		if w := w - t.begin; w >= 0 && w < allWindows {
			t.windows[w].granted += granted
		}
	}
	// A report is of a part of a window. It comes when that has ended.
	middle := n.Until.Add(-t.policy.Per / reportsPerWindow / 2)
	if i := windowOf(middle, t.policy.Per) - t.begin; i >= 0 && i < allWindows {
		w := &t.windows[i]
		w.denied, w.failed, w.dropped, w.calls = w.denied+n.Denied, w.failed+n.Failed, w.dropped+n.Dropped, w.calls+n.Calls
		w.took.merge(n.Took)
	}
	t.print()
	return nil
}

// print prints the windows that all living nodes have reported.
func (t *trial) print() {
	for ; t.begin > 0 && t.whole < allWindows; t.whole++ {
		end := windowStart(t.begin+int64(t.whole)+1, t.policy.Per)
		for _, p := range t.nodes {
			if p.ready && !p.killed && p.until.Before(end) {
				return
			}
		}
		fmt.Fprintln(t.out, t.windows[t.whole].line(t.whole, t.policy.Limit))
	}
}

// end ends the nodes, and waits for that.
func (t *trial) end() (err error) {
	for _, p := range t.nodes {
		if p != nil {
			p.end()
		}
	}
	late := time.After(10 * time.Second)
	for t.running > 0 {
		select {
		case n := <-t.news:
			if fault := t.note(n); err == nil {
				err = fault
			}
		case <-late:
			for _, p := range t.nodes {
				if p != nil {
					p.kill()
				}
			}
		}
	}
	return err
}
