package change

import (
	"fmt"
	"strings"
	"time"
)

// An op is the kind of a step.
type op int

const (
	opAllow op = iota
	opTake
	opUpTo
	opReserve
	opSettle  // a reservation, for N events; 0 cancels it
	opReturn  //
	opReset   //
	opAdvance // the clock by D
	opRetry   // the clock to the RetryAfter of the last denial, and D more
	opAllBack // all that is held: returned first if N is 1, else cancelled first
	opOverrun // reserve 1, and settle N if that is granted
	opWait    // in a bubble alone, as the next
	opGiveUp  // a Wait
)

// A Step is one call.
type Step struct {
	ID    int // tells it apart when others were dropped
	Op    op
	By    int           // the policy that the call comes by
	Key   int           // which of the keys
	N     int           // events
	Of    int           // opSettle, opGiveUp: the ID of the step that reserved or waits
	D     time.Duration // opAdvance, opRetry; opReserve, opWait: how far ahead; below zero: however far
	Ended bool          // the context has ended
	Hurry bool          // in a bubble: the next step comes before those who wait have run
}

// forNow is the D of an opReserve that books nothing ahead.
const forNow = -2

// A mode says how a call comes by a policy.
type mode int

const (
	bySetPolicy mode = iota
	byContext        // WithPolicyFor
	byPeers          // a limiter for each policy, all of one name on one store
)

// A Trial is policies and steps.
type Trial struct {
	Seed     uint64
	Mode     mode
	Start    int64
	Bubble   bool // with those who wait, in a testing/synctest bubble
	Policies []tree
	Steps    []Step
}

// frozen tells whether the clock stands still all the time.
func (t *Trial) frozen() bool {
	for _, s := range t.Steps {
		if s.Op == opAdvance || s.Op == opRetry || t.Bubble {
			return false
		}
	}
	return true
}

func (s Step) String() string {
	if s.Hurry {
		s.Hurry = false
		return s.String() + ", and before anybody who waits runs"
	}
	p := fmt.Sprintf("P%d", s.By)
	if s.Key > 0 {
		p += fmt.Sprintf(" key %d", s.Key)
	}
	ended := ""
	if s.Ended {
		ended = " with a context that has ended"
	}
	ahead := ""
	if s.D >= 0 {
		ahead = fmt.Sprintf(" within %v", s.D)
	}
	switch s.Op {
	case opAllow:
		return p + ": Allow"
	case opTake:
		return fmt.Sprintf("%s: Take %d%s", p, s.N, ended)
	case opUpTo:
		return fmt.Sprintf("%s: TakeUpTo %d", p, s.N)
	case opReserve:
		if s.D == forNow {
			return fmt.Sprintf("%s: r%d = ReserveNow %d", p, s.ID, s.N)
		}
		return fmt.Sprintf("%s: r%d = Reserve %d%s", p, s.ID, s.N, ahead)
	case opSettle:
		if s.N == 0 {
			return fmt.Sprintf("%s: Cancel r%d%s", p, s.Of, ended)
		}
		return fmt.Sprintf("%s: Settle r%d for %d%s", p, s.Of, s.N, ended)
	case opReturn:
		return fmt.Sprintf("%s: Return %d%s", p, s.N, ended)
	case opReset:
		return p + ": Reset"
	case opAdvance:
		return fmt.Sprintf("%v pass", s.D)
	case opRetry:
		return fmt.Sprintf("time passes to the last RetryAfter, %+d ns", s.D)
	case opAllBack:
		return fmt.Sprintf("%s: all is given back (%s first)", p, [2]string{"cancelled", "returned"}[s.N&1])
	case opOverrun:
		return fmt.Sprintf("%s: Reserve 1, and if granted Settle %d", p, s.N)
	case opWait:
		return fmt.Sprintf("%s: go w%d = Wait %d%s", p, s.ID, s.N, ahead)
	default:
		return fmt.Sprintf("cancel the context of w%d", s.Of)
	}
}

// script is the trial for people to read, with the answers that it got.
func (t *Trial) script(answers []answer) string {
	var b strings.Builder
	start := time.Unix(0, t.Start).UTC().Format(time.RFC3339Nano)
	if t.Bubble {
		start = "the start of a bubble"
	}
	fmt.Fprintf(&b, "seed %d; policies come by %s; the clock starts at %s\n", t.Seed,
		[]string{"SetPolicy", "WithPolicyFor", "limiters of one name"}[t.Mode], start)
	used := map[int]bool{}
	for _, s := range t.Steps {
		used[s.By] = used[s.By] || s.Op != opAdvance && s.Op != opRetry && s.Op != opGiveUp
	}
	for i, p := range t.Policies {
		if used[i] {
			fmt.Fprintf(&b, "  P%d = %#v\n", i, p.policy())
		}
	}
	told := map[int]answer{}
	for _, a := range answers {
		told[a.ID] = a
	}
	for _, s := range t.Steps {
		fmt.Fprintf(&b, "  %s", s)
		if a, ok := told[s.ID]; ok {
			fmt.Fprintf(&b, "  → %s", a)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
