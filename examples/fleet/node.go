package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// nodeArg is the argument by which this program starts itself as a node. A node reads a job, then
// its loads, until its input ends: when its parent wants it, or has died. It writes reports. All of
// them are JSON.
const nodeArg = "serve-as-a-node"

// key is the one that all requests are for.
const key = "hot"

// A job is what a node is.
type job struct {
	Way         string
	Policy      weir.FixedWindow
	Node, Nodes int
	Store       address
}

// A load is how many requests a second come to a node from now on.
type load struct{ PerSecond float64 }

// A report is what a node did since the last one.
type report struct {
	Until   time.Time
	Granted map[int64]int // in each window
	Denied  int
	Failed  int // without a decision, or later than a window after they came
	Dropped int // without a try, because too many requests were waiting
	Calls   int // of the store
	Took    histogram
}

// reportsPerWindow is a report each tenth of a second, with windows of a second.
const reportsPerWindow = 10

// serveNode is the process of a node.
func serveNode(in io.Reader, out io.Writer) error {
	signal.Ignore(os.Interrupt) // a Ctrl-C goes to all processes of the terminal; the parent decides
	input := json.NewDecoder(in)
	var j job
	if err := input.Decode(&j); err != nil {
		return err
	}
	w, ok := wayNamed(j.Way)
	if !ok {
		return fmt.Errorf("no way is called %q", j.Way)
	}
	shared, closeStore, err := j.Store.open()
	if err != nil {
		return err
	}
	defer closeStore()
	n := &node{job: j, reports: json.NewEncoder(out)}
	take, release, err := w.open(j.Policy, counted{shared, &n.calls}, j.Node, j.Nodes)
	if err != nil {
		return err
	}
	n.taker = take
	if err := n.send(); err != nil { // which says that the node is ready
		return err
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- n.work(stop) }()
	for {
		var l load
		if err := input.Decode(&l); err != nil {
			break
		}
		n.perSecond.Store(l.PerSecond)
	}
	close(stop)
	err = <-ended
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return errors.Join(err, release(ctx), n.send())
}

// counted counts the calls of a store.
type counted struct {
	weir.Store
	calls *atomic.Int64
}

// Do implements [weir.Store].
func (c counted) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	c.calls.Add(1)
	return c.Store.Do(ctx, r)
}

type node struct {
	job
	taker     taker
	reports   *json.Encoder
	perSecond atomic.Value // a float64
	calls     atomic.Int64

	mu   sync.Mutex
	next report
}

// A node works on so many requests at once, and lets so many others wait.
const inFlight, mostWaiting = 64, 1000

// work makes requests, as many as the load says, and reports now and then.
func (n *node) work(stop <-chan struct{}) error {
	requests := make(chan struct{}, mostWaiting)
	var workers sync.WaitGroup
	for range inFlight {
		workers.Go(func() {
			for range requests {
				n.decide()
			}
		})
	}
	defer workers.Wait()
	defer close(requests)

	pulse := time.NewTicker(time.Millisecond)
	defer pulse.Stop()
	interval := n.Policy.Per / reportsPerWindow
	last, due := time.Now(), 0.0
	for reportAt := windowStart(windowOf(last, interval)+1, interval); ; {
		select {
		case <-stop:
			return nil
		case <-pulse.C:
		}
		now := time.Now()
		perSecond, _ := n.perSecond.Load().(float64)
		for due += perSecond * now.Sub(last).Seconds(); due >= 1; due-- {
			select {
			case requests <- struct{}{}:
			default:
				n.drop()
			}
		}
		if last = now; now.Before(reportAt) {
			continue
		}
		if err := n.send(); err != nil {
			return err
		}
		reportAt = windowStart(windowOf(now, interval)+1, interval)
	}
}

// decide makes a decision, and counts it.
func (n *node) decide() {
	sent := time.Now()
	r, err := n.taker.Take(context.Background(), key, 1)
	answered := time.Now()

	n.mu.Lock()
	defer n.mu.Unlock()
	n.next.Took.add(answered.Sub(sent))
	switch {
	case err != nil || answered.Sub(sent) >= n.Policy.Per:
		n.next.Failed++
	case r.Allowed:
		n.next.Granted[grantedIn(sent, answered, r.ResetAfter, n.Policy.Per)]++
	default:
		n.next.Denied++
	}
}

func (n *node) drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next.Dropped++
}

// send reports what there is since the last report.
func (n *node) send() error {
	n.mu.Lock()
	r := n.next
	n.next = report{Granted: map[int64]int{}, Took: histogram{}}
	n.mu.Unlock()
	r.Until, r.Calls = time.Now(), int(n.calls.Swap(0))
	return n.reports.Encode(r)
}
