package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// roomy denies nothing that is asked for here; slow is the same for many keys, each of which is
// asked for seldom, and has to be remembered until then. tight denies all but the first event.
var (
	roomy = quota{100_000_000, 24 * time.Hour}
	slow  = quota{1_000_000, 100_000 * time.Hour}
	tight = quota{1, time.Hour}
)

// A figure is what one measurement yields, each per decision.
type figure struct {
	seconds  float64 // that passed, in which others were decided as well
	p50, p99 float64 // seconds that a caller waits
	allocs   float64
	own      float64 // seconds of this process' processor time
	cpu      float64 // seconds of Redis' processor time
	executed float64 // of that, seconds to execute commands; scripts, if there are any
	script   float64 // seconds to execute a script once, however many decisions that makes
	allowed  float64
	failed   float64
}

// measure lets goroutines ask for the keys in a random order, for d. It takes half of that before,
// to warm up.
func measure(s *server, l limiter, keys []string, goroutines int, d time.Duration) (f figure, err error) {
	race(l, keys, goroutines, d/2)
	runtime.GC()
	var before, after runtime.MemStats
	usedBefore, err := s.usage()
	if err != nil {
		return f, err
	}
	runtime.ReadMemStats(&before)
	ownBefore := processTime()
	elapsed, t := race(l, keys, goroutines, d)
	own := processTime() - ownBefore
	runtime.ReadMemStats(&after)
	used, err := s.usage()
	if err != nil {
		return f, err
	}
	n := float64(len(t.took))
	slices.Sort(t.took)
	f = figure{
		seconds: elapsed.Seconds() / n,
		p50:     t.took[len(t.took)/2].Seconds(),
		p99:     t.took[len(t.took)*99/100].Seconds(),
		allocs:  (float64(after.Mallocs-before.Mallocs) - t.ownAllocs) / n,
		own:     own.Seconds() / n,
		cpu:     (used.process - usedBefore.process) / n,
		allowed: float64(t.allowed) / n,
		failed:  float64(t.failed) / n,
	}
	f.executed = (used.scripts - usedBefore.scripts) / n
	f.script = (used.scripts - usedBefore.scripts) / max(used.runs-usedBefore.runs, 1)
	if f.executed == 0 {
		f.executed = (used.commands - usedBefore.commands) / n
	}
	return f, nil
}

// A tally has the answers that callers got, and how long each waited for one.
type tally struct {
	took            []time.Duration
	allowed, failed int
	ownAllocs       float64 // to keep what is in took
}

func race(l limiter, keys []string, goroutines int, d time.Duration) (time.Duration, tally) {
	var (
		mu      sync.Mutex
		all     tally
		callers sync.WaitGroup
		ctx     = context.Background()
		began   = time.Now()
	)
	for g := range goroutines {
		callers.Go(func() {
			var t tally
			random := rand.New(rand.NewPCG(uint64(g), uint64(len(keys))))
			for now := time.Since(began); now < d || len(t.took) == 0; {
				ok, err := l(ctx, keys[random.IntN(len(keys))])
				switch {
				case err != nil:
					t.failed++
				case ok:
					t.allowed++
				}
				end := time.Since(began)
				if len(t.took) == cap(t.took) {
					t.ownAllocs++
				}
				t.took = append(t.took, end-now)
				now = end
			}
			mu.Lock()
			defer mu.Unlock()
			all.took = append(all.took, t.took...)
			all.allowed += t.allowed
			all.failed += t.failed
			all.ownAllocs += t.ownAllocs + 4 // the rest of what a goroutine costs
		})
	}
	callers.Wait()
	return time.Since(began), all
}

// populate asks for each key once.
func populate(l limiter, keys []string) error {
	var next atomic.Int64
	var callers sync.WaitGroup
	errs := make(chan error, 1)
	for range 64 {
		callers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(keys) {
					return
				}
				ok, err := l(context.Background(), keys[i])
				if err == nil && !ok {
					err = errors.New("the first event is denied")
				}
				if err != nil {
					select {
					case errs <- fmt.Errorf("%s: %w", keys[i], err):
					default: // one will do
					}
				}
			}
		})
	}
	callers.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// together is how many events 16 goroutines are granted who ask a limiter 20 times each, and how
// many asks failed.
func together(l limiter, key string) (granted, failed int) {
	var g, f atomic.Int64
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 20 {
				ok, err := l(context.Background(), key)
				switch {
				case err != nil:
					f.Add(1)
				case ok:
					g.Add(1)
				}
			}
		})
	}
	callers.Wait()
	return int(g.Load()), int(f.Load())
}

// keys are n of 16 bytes.
func keys(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("client-%09d", i)
	}
	return all
}
