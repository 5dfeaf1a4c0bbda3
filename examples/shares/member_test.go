package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/runs"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// limit is divided by members in these tests, in windows that are short.
var limit = weir.FixedWindow{Limit: 60, Per: 100 * time.Millisecond}

// A record is what processes granted, in windows of the limit.
type record struct {
	mu     sync.Mutex
	events map[int64]map[string]int // by window, and process
	grants []int64                  // the instants
}

func (r *record) add(process string, at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	window := at / int64(limit.Per)
	if r.events[window] == nil {
		r.events[window] = map[string]int{}
	}
	r.events[window][process]++
	r.grants = append(r.grants, at)
}

// used waits for a window that starts from now on and in which the processes, and no others, granted
// so many events each.
func (r *record) used(t *testing.T, want map[string]int) {
	t.Helper()
	from := time.Now().UnixNano() / int64(limit.Per)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for window, got := range r.events {
			if window > from && assert.ObjectsAreEqual(want, got) {
				return
			}
		}
		assert.Fail(c, "no such window", "%v", want)
	}, time.Minute, 20*time.Millisecond)
}

// neverOver checks that all processes together kept to the limit.
func (r *record) neverOver(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.grants)
	whole, err := limit.Decider()
	require.NoError(t, err)
	state := make([]uint64, whole.Words())
	for _, at := range r.grants {
		var a weir.Answer
		state, a = whole.Decide(state, at, weir.Ask{N: 1})
		require.True(t, a.Allowed)
	}
}

// A process divides the limit with others, and grants all that it may.
type process struct {
	client  *clientv3.Client
	asking  context.CancelFunc
	attends context.CancelFunc
	all     sync.WaitGroup
}

// start starts a process. front makes its store of its Shares.
func (r *record) start(t *testing.T, name, etcd, prefix string, front func(weir.Store) weir.Store) *process {
	t.Helper()
	p := &process{client: newClient(t, etcd)}
	shares := fleet.NewShares(new(weir.MemStore))
	m := &member{
		client: p.client, prefix: prefix, ttl: time.Second, shares: shares,
		report: func(now fleet.Membership) { t.Logf("%s: %+v", name, now) },
		fault:  func(err error) { t.Logf("%s: %v", name, err) },
	}
	limiter := weir.Must(weir.New(limit, weir.WithStore(&recorder{front(shares), r, name})))
	asking, stop := context.WithCancel(context.Background())
	p.asking = stop
	p.all.Go(func() {
		for asking.Err() == nil {
			if !limiter.Allow("all") {
				time.Sleep(time.Millisecond)
			}
		}
	})
	attends, stop := context.WithCancel(context.Background())
	p.attends = stop
	p.all.Go(func() { m.run(attends) })
	t.Cleanup(p.leave)
	return p
}

// leave ends a process.
func (p *process) leave() {
	p.attends()
	p.asking()
	p.all.Wait()
}

// crash ends a process. Its session goes on.
func (p *process) crash() {
	p.asking()
	p.cutOff()
}

// cutOff takes etcd from a process, which goes on.
func (p *process) cutOff() { _ = p.client.Close() }

// A recorder notes what a store grants.
type recorder struct {
	weir.Store
	record  *record
	process string
}

func (s *recorder) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	a, err := s.Store.Do(ctx, r)
	if err == nil && a.Allowed && r.N > 0 {
		s.record.add(s.process, a.At)
	}
	return a, err
}

func (s *recorder) Accept(l *weir.KeyedLimiter) error { return weir.Accept(s.Store, l) }

// away is a shared store in an outage.
type away struct{}

func (away) Do(context.Context, weir.Request) (weir.Answer, error) {
	return weir.Answer{}, errors.New("connection refused")
}

// Processes that join, leave, crash and are cut off grant the limit together, and never more. This
// holds with Shares as their only store, and as the store for an outage.
func TestShares(t *testing.T) {
	runs.SkipDear(t) // it waits for sessions to expire
	t.Parallel()
	etcd := startEtcd(t)
	for name, front := range map[string]func(weir.Store) weir.Store{
		"alone": func(shares weir.Store) weir.Store { return shares },
		"in an outage": func(shares weir.Store) weir.Store {
			return fleet.Fallback(away{}, shares, fleet.FallbackOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &record{events: map[int64]map[string]int{}}
			start := func(process string) *process { return r.start(t, process, etcd, "/"+name+"/", front) }
			a := start("a")
			r.used(t, map[string]int{"a": 60})
			b, c := start("b"), start("c")
			r.used(t, map[string]int{"a": 20, "b": 20, "c": 20})
			b.leave()
			r.used(t, map[string]int{"a": 30, "c": 30})
			a.crash()
			d := start("d")
			r.used(t, map[string]int{"c": 30, "d": 30})
			c.cutOff()
			r.used(t, map[string]int{"d": 60})
			d.leave()
			c.leave()
			r.neverOver(t)
		})
	}
}
