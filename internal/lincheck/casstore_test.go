package lincheck

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A register is in memory. Others come between its calls.
type register struct {
	tells bool // Swap returns what the key holds

	mu      sync.Mutex
	values  map[string]casstore.Entry
	version int
}

func (r *register) Get(_ context.Context, key string) (casstore.Entry, error) {
	runtime.Gosched()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.values[key], nil
}

func (r *register) Swap(
	_ context.Context, key string, old casstore.Entry, value []byte, _ time.Duration,
) (now casstore.Entry, ok bool, err error) {
	runtime.Gosched()
	r.mu.Lock()
	defer r.mu.Unlock()
	if ok = r.values[key].Version == old.Version; ok {
		r.version++
		r.values[key] = casstore.Entry{Value: value, Version: r.version}
	}
	if r.tells {
		now = r.values[key]
	}
	return now, ok, nil
}

func (r *register) Delete(_ context.Context, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.values, key)
	return nil
}

// processes are stores on one register, which take turns.
type processes struct {
	stores []*casstore.Store
	turn   atomic.Int64
}

func (p *processes) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	return p.stores[int(p.turn.Add(1))%len(p.stores)].Do(ctx, r)
}

// R10: the same of casstore, whose callers share rounds, alone and with another process.
func TestR10_CasstoreIsLinearizable(t *testing.T) {
	for _, p := range policies {
		for name, c := range map[string]struct {
			stores int
			tells  bool
		}{"one process": {1, false}, "tells": {1, true}, "two processes": {2, false}, "two processes, tells": {2, true}} {
			t.Run(p.name+", "+name, func(t *testing.T) {
				m := &register{tells: c.tells, values: map[string]casstore.Entry{}}
				s := new(processes)
				for range c.stores {
					s.stores = append(s.stores, casstore.New(m, casstore.Options{Timeout: time.Hour}))
				}
				r := &recording{policy: p.Policy, store: s, goroutines: 6, takes: runs.Long(200, 80), keys: []string{"a", "b"}}
				if got := check(t, r); got != porcupine.Ok {
					t.Errorf("R10 (concurrent steps on a key come one after another): %#v: the history is %s", p.Policy, got)
				}
			})
		}
	}
}
