package change

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A Suite says on which stores trials run, and for how long.
type Suite struct {
	// New makes an empty store. The clock is that of its limiters. A store that decides by a clock
	// of its own has to follow that clock. It is called several times a trial.
	New func(clock weir.Clock) weir.Store

	// Name, if not nil, makes a new name for the limiters, where New returns stores that share what
	// they keep.
	Name func() string

	// Grain is the smallest step of time that the store tells; 1 ns if it is zero.
	Grain time.Duration

	// Time is how long trials run; if it is zero, what the environment variable WEIR_MODEL_TIME
	// says, else 2 s, or 0.2 s in runs that are not long.
	Time time.Duration

	NoTwins bool // leave out what needs another store
	Bubbles bool // trials with those who wait, too; not for stores that use the network
	Foreign bool // trials with policies of another package, too

	policies []tree         // fixed ones
	rules    map[string]int // how often each was found, for tests of the test
	t        *testing.T     // for bubbles
	only     string         // the rule that counts, if not empty
}

func (s *Suite) name() string {
	if s.Name == nil {
		return ""
	}
	return s.Name()
}

// counts tells whether a rule is asked for.
func (s *Suite) counts(rule string) bool { return s.only == "" || s.only == rule }

func (s *Suite) grain() int64 { return max(int64(s.Grain), 1) }

// up is d as the clock can tell it, rounded up.
func (s *Suite) up(d time.Duration) int64 {
	return (int64(d) + s.grain() - 1) / s.grain() * s.grain()
}

func (s *Suite) time() time.Duration {
	if s.Time > 0 {
		return s.Time
	}
	if d, err := time.ParseDuration(os.Getenv("WEIR_MODEL_TIME")); err == nil {
		return d
	}
	return runs.Long(2*time.Second, time.Second/5)
}

// A found is a rule that trials broke.
type found struct {
	*violation
	script string
	trials int
	after  time.Duration
}

// maxFound is after how many rules it is enough.
const maxFound = 12

// Run runs trials. Their seeds are always the same, but for half of the time of a longer run, which
// WEIR_MODEL_TIME asks for, they are new ones. If WEIR_MODEL_SEED is set, it runs that one alone.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("WEIR_MODEL_SEED"), 10, 64)
	if err == nil {
		if f := s.try(t, seed); f != nil {
			t.Errorf("%s: %s\n%s", f.rule, f.why, f.script)
		}
		return
	}
	news := rand.Uint64() >> 16
	n, all := s.search(t, 1, news)
	t.Logf("%d trials in %v; new seeds from %d", n, s.time(), news)
	for _, f := range all {
		t.Errorf("%s, found after %d trials and %v: step %d: %s\n%s", f.rule, f.trials, f.after.Round(time.Millisecond), f.step, f.why, f.script)
	}
}

// search runs trials for the time, and returns the first that breaks each rule.
func (s *Suite) search(t *testing.T, seed, news uint64) (trials int, all []*found) {
	began, known := time.Now(), map[string]bool{}
	working := time.Duration(0) // without what shrinking took
	for old := true; working < s.time() && len(all) < maxFound; trials++ {
		if old && working > s.time()/2 && os.Getenv("WEIR_MODEL_TIME") != "" {
			old, seed = false, news
		}
		before := time.Now()
		f := s.tryNew(t, seed, known)
		seed++
		if f != nil {
			f.trials, f.after = trials+1, working
			all = append(all, f)
			known[f.rule] = true
		} else {
			working += time.Since(before)
		}
		if time.Since(began) > 4*s.time()+time.Minute {
			break
		}
	}
	return trials, all
}

func (s *Suite) try(t *testing.T, seed uint64) *found { return s.tryNew(t, seed, nil) }

// tryNew tries one seed, and shrinks it if it breaks a rule that is not known.
func (s *Suite) tryNew(t *testing.T, seed uint64, known map[string]bool) *found {
	trial := drawTrial(seed, s.policies, time.Duration(s.grain()))
	if s.Bubbles && seed%3 == 0 {
		trial = drawBubble(seed, s.policies)
	}
	if r := rand.New(rand.NewPCG(seed, 19)); s.Foreign && r.IntN(4) == 0 {
		for i, p := range trial.Policies {
			trial.Policies[i] = p.someForeign(r)
		}
	}
	s.t = t
	v, _ := s.fails(trial)
	if v == nil {
		return nil
	}
	if s.rules != nil {
		s.rules[v.rule]++
	}
	if known[v.rule] {
		return nil
	}
	trial, v, answers := s.shrink(trial, v)
	return &found{violation: v, script: fmt.Sprint(trial.script(answers))}
}
