// Command redisreport holds the stores of weir in Redis against other limiters that keep their
// counts there, and writes docs/benchmarks-redis.md. It starts a redis-server of its own. From the
// root of the repository:
//
//	go run ./benchmarks/redisreport
//
// The measurements are interleaved: all contenders are measured once before any is measured again,
// so that a change of the machine's pace in the meantime strikes all alike. The tables tell
// medians.
//
// With -distance 20ms it measures in place of all that how many decisions a second there are of a
// Redis that is as far away, and prints them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"
)

// settings are what the flags say.
type settings struct {
	rounds  int
	time    time.Duration // of a measurement
	keys    int
	out     string
	command string

	distance time.Duration // if not zero, measure that and nothing else
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("redisreport: ")
	var s settings
	flag.IntVar(&s.rounds, "rounds", 7, "how often each contender is measured")
	flag.DurationVar(&s.time, "time", 300*time.Millisecond, "time of a measurement")
	flag.IntVar(&s.keys, "keys", 100_000, "how many keys there are")
	flag.StringVar(&s.out, "out", "docs/benchmarks-redis.md", "`file` that the report is written to")
	flag.DurationVar(&s.distance, "distance", 0, "measure a Redis whose replies take so much longer, print that, and write no report")
	flag.Parse()
	if s.distance > 0 {
		if err := s.runDistance(os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	s.command = strings.Join(append([]string{"go run ./benchmarks/redisreport"}, os.Args[1:]...), " ")
	r, err := s.run()
	if err == nil {
		err = os.WriteFile(s.out, []byte(r.document()), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A workload is what is measured of all contenders.
type workload struct {
	keys       int
	goroutines int
	denied     bool
}

func (w workload) String() string {
	what := "allowed"
	if w.denied {
		what = "denied"
	}
	return fmt.Sprintf("%d keys, %d goroutines, %s", w.keys, w.goroutines, what)
}

// goroutines that ask at once; where one number must do, some.
var goroutines = []int{1, 16, 64, 256}

const some = 64

// denied is the workload in which nothing is granted.
var denied = workload{1, some, true}

func (s settings) workloads() []workload {
	var all []workload
	for _, n := range []int{1, s.keys} {
		for _, g := range goroutines {
			all = append(all, workload{n, g, false})
		}
	}
	return append(all, denied)
}

// A report is what was measured.
type report struct {
	settings
	environment
	took     time.Duration
	entrants []*entrant
	policies []policyFigures
	fullLog  int64 // bytes of a log of 10,000 events
}

func (s settings) run() (r report, err error) {
	if s.rounds < 1 || s.time <= 0 || s.keys < 1 {
		return r, fmt.Errorf("-rounds %d, -time %v, -keys %d: must all be above zero", s.rounds, s.time, s.keys)
	}
	began := time.Now()
	server, err := startServer()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	r = report{settings: s, environment: newEnvironment(began, server.version())}
	progress := func(what any) { log.Printf("%v, after %v", what, time.Since(began).Round(time.Second)) }

	for i, c := range contenders() {
		e, err := enter(server, 1+i, c)
		if err != nil {
			return r, fmt.Errorf("%s: %w", c.name, err)
		}
		defer e.client.Close()
		r.entrants = append(r.entrants, e)
	}
	if r.policies, err = measurePolicies(server, s); err != nil {
		return r, err
	}
	if r.fullLog, err = measureFullLog(server); err != nil {
		return r, err
	}
	progress("contenders and policies")
	names := keys(s.keys)
	for _, e := range r.entrants {
		if err := populate(e.slow, names); err != nil {
			return r, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	progress("all keys")
	for _, w := range s.workloads() {
		for round := range s.rounds {
			if err := measureRound(server, r.entrants, round, w, names, s.time); err != nil {
				return r, err
			}
		}
		progress(w)
	}
	r.took = time.Since(began)
	return r, nil
}

func measureRound(s *server, entrants []*entrant, round int, w workload, names []string, d time.Duration) error {
	order := slices.Clone(entrants)
	if round%2 == 1 { // so that a steady drift of the machine cancels out
		slices.Reverse(order)
	}
	for _, e := range order {
		if !e.takesPart(w) {
			continue
		}
		l, of := e.slow, names
		switch {
		case w.denied:
			l, of = e.tight, []string{"denied"}
		case w.keys == 1:
			l, of = e.roomy, []string{"hot"}
		}
		f, err := measure(s, l, of, w.goroutines, d)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		e.figures[w] = append(e.figures[w], f)
	}
	return nil
}
