// Package benchmarks does the same work with weir and with other limiters, and measures it.
//
// The workloads are in workload.go, the contenders in weir.go and peers.go. Command report
// runs them all, and writes the tables of docs/benchmarks.md.
package benchmarks

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Limiter is all that the workloads ask of a contender.
type Limiter interface {
	Allow(key string) bool
}

// A Contender is a limiter that takes part.
type Contender struct {
	Name   string
	Module string // path of its module
	How    string // how it is used here, and what sets it apart
	Kind   Kind
	Hashes bool                  // whether it counts keys as one if their hashes of 64 bits are alike
	Only   string                // if not empty, the only group of workloads that it is for
	New    func(q Quota) Limiter // panics if the limiter can't be made; nil for middleware

	// Wrap puts a middleware that limits by the client's address in front of next; nil for others.
	Wrap func(q Quota, next http.Handler) http.Handler
}

// Weir tells whether the contender is weir.
func (c Contender) Weir() bool { return c.Module == weirModule }

// Peer tells whether it is another's limiter.
func (c Contender) Peer() bool { return c.Kind != Idle && !c.Weir() }

// A Quota is what a limiter allows each key: Limit events at once, and per Per.
type Quota struct {
	Limit int
	Per   time.Duration
}

// interval is the time that one event takes.
func (q Quota) interval() time.Duration { return q.Per / time.Duration(q.Limit) }

// perSecond is the rate of the quota.
func (q Quota) perSecond() float64 { return float64(q.Limit) / q.Per.Seconds() }

// Kind tells which quota a contender needs to do the same work as the others.
type Kind int

const (
	Counts Kind = iota // admits the whole quota at once
	Logs               // the same, and remembers each event
	Paces              // admits one event per interval
	Blocks             // the same, and never denies: it sleeps
	Idle               // admits everything: the cost of the loop around a contender
)

const century = 100 * 365 * 24 * time.Hour

var (
	// roomy denies nothing that a workload asks for. It is earned back so slowly, one event in 31
	// s, that no limiter can forget a key during a run; else it would be the memory for fewer keys
	// that is measured.
	roomy = Quota{100_000_000, century}

	// paced is the same for those that admit one event per interval.
	paced = Quota{1_000_000_000, time.Second}

	// logged is the same for a log on a hot key: it has to forget what it logged.
	logged = Quota{100_000, time.Millisecond}

	// tight denies all but the first event.
	tight = Quota{1, time.Hour}
)

// Contenders are all of them, in the order of the tables.
func Contenders() []Contender {
	return slices.Concat(loop, weirs, peers, middlewares)
}

// Find returns the contender of that name.
func Find(name string) (Contender, error) {
	all := Contenders()
	i := slices.IndexFunc(all, func(c Contender) bool { return c.Name == name })
	if i < 0 {
		return Contender{}, fmt.Errorf("no contender %q", name)
	}
	return all[i], nil
}

// Select returns the contenders whose names contain one of the parts, or all if there are no parts.
func Select(parts []string) []Contender {
	all := Contenders()
	if len(parts) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(c Contender) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(c.Name, p) })
	})
}

// loop is no limiter. Its time is the time that the workloads themselves take.
var loop = []Contender{{
	Name: "(the loop alone)",
	How:  "no limiter: the cost of the measurement itself, which every figure contains",
	Kind: Idle,
	New:  func(Quota) Limiter { return idle{} },
	Wrap: func(_ Quota, next http.Handler) http.Handler { return next },
}}

type idle struct{}

func (idle) Allow(string) bool { return true }

// must is for constructors, whose quotas are known to be good.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
