package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// policyFigures are what the script of a policy takes.
type policyFigures struct {
	policy          string
	granted, denied float64 // seconds in which Redis executes it once
	bytes           int64   // of a key after one event
}

// A trial is a policy in three sizes: one that grants all that it is asked for, one that grants an
// event, and one of a usual size.
type trial struct {
	name                string
	roomy, tight, usual weir.Policy
}

func trials() []trial {
	bucket := func(limit int, per time.Duration) weir.Policy { return weir.TokenBucket{Limit: limit, Per: per} }
	queue := func(limit int, per time.Duration) weir.Policy { return weir.LeakyBucket{Limit: limit, Per: per} }
	fixed := func(limit int, per time.Duration) weir.Policy { return weir.FixedWindow{Limit: limit, Per: per} }
	sliding := func(limit int, per time.Duration) weir.Policy { return weir.SlidingWindow{Limit: limit, Per: per} }
	minutes := func(limit int, per time.Duration) weir.Policy {
		return weir.SlidingWindow{Limit: limit, Per: per, Buckets: 60}
	}
	log := func(limit int, per time.Duration) weir.Policy { return weir.SlidingLog{Limit: limit, Per: per} }
	const hour, day, million = time.Hour, 24 * time.Hour, 1_000_000
	return []trial{
		{"TokenBucket", bucket(million, hour), bucket(1, day), bucket(100, hour)},
		{"LeakyBucket", queue(million, time.Second), queue(1, day), queue(100, hour)},
		{"FixedWindow", fixed(million, hour), fixed(1, day), fixed(100, hour)},
		{"SlidingWindow", sliding(million, hour), sliding(1, day), sliding(100, hour)},
		{"SlidingWindow, 60 buckets", minutes(million, hour), minutes(1, day), minutes(100, hour)},
		{"SlidingLog, some thousand events", log(100_000, hour), log(1, day), log(100, hour)},
	}
}

// measurePolicies leaves the server empty.
func measurePolicies(s *server, set settings) ([]policyFigures, error) {
	db := database{addr: s.addr}
	client, store, err := newRueidis(db, false)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var all []policyFigures
	for _, t := range trials() {
		granting, err1 := onWeir(t.roomy, store)
		denying, err2 := onWeir(t.tight, store)
		usual, err3 := onWeir(t.usual, store)
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		f := policyFigures{policy: t.name}
		if f.bytes, err = bytesPerKey(s, db, usual); err != nil {
			return nil, err
		}
		var granted, denied []float64
		for range set.rounds {
			g, err1 := measure(s, granting, keys(some), some, set.time)
			d, err2 := measure(s, denying, keys(2 * some)[some:], some, set.time)
			if err := errors.Join(err1, err2); err != nil {
				return nil, err
			}
			granted, denied = append(granted, g.script), append(denied, d.script)
		}
		f.granted, f.denied = median(granted), median(denied)
		all = append(all, f)
	}
	return all, s.flush()
}

// measureFullLog is the memory of a log that holds 10,000 events. It leaves the server empty.
func measureFullLog(s *server) (int64, error) {
	db := database{addr: s.addr}
	client, store, err := newRueidis(db, false)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	const limit, callers = 10_000, 50
	l, err := onWeir(weir.SlidingLog{Limit: limit, Per: time.Hour}, store)
	if err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range limit / callers {
				_, _ = l(context.Background(), "full") // what was not granted is found below
			}
		})
	}
	all.Wait()
	if ok, err := l(context.Background(), "full"); ok || err != nil {
		return 0, fmt.Errorf("a log of %d events is not full after as many: %w", limit, err)
	}
	bytes, err := s.bytes(db)
	return bytes, errors.Join(err, s.flush())
}
