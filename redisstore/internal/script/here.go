package script

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/weir-go/weir"
)

// maxAttempts bounds how often the state may have changed when it is to be replaced, before the
// decision fails. Callers of one process wait in line, so each time another process changed it.
const maxAttempts = 100

// decideHere decides in this process. It reads the state, and replaces it if it is still the same.
// found is the state if it was read already and is unused.
//
// Everything must be done by the deadline. After three quarters of the time that is left after
// reading, no new step begins. The rest is for the last reply. Without that, callers that lost
// their time to others of the same key would take a slow server for dead.
func (e *Engine) decideHere(ctx context.Context, p *plan, key string, r weir.Request, found *reply, deadline time.Time) (weir.Answer, error) {
	var l *line
	var until time.Time
	for attempt := 1; ; {
		if found == nil {
			reply, err := e.run(ctx, Call{Script: e.scripts.read, Key: key, Within: timeTo(deadline)})
			if err != nil {
				return weir.Answer{}, err
			}
			found = &reply
		}
		a, next, life, err := e.decide(p, *found, r)
		if err != nil || next == found.rest.s {
			return a, err
		}
		if l == nil {
			until = lastStart(ctx, deadline)
			if l, err = e.lines.enter(ctx, key, until); err != nil {
				return weir.Answer{}, err
			}
			defer e.lines.leave(l)
			if l.state.now > found.now { // others have replaced the state, and left the newer one
				state := l.state
				found = &state
				continue
			}
		}
		reply, err := e.run(ctx, Call{
			Script: e.scripts.swap, Key: key,
			Args:   [4]any{found.rest.s, next, strconv.FormatInt(life, 10)},
			Within: timeTo(deadline),
		})
		if err != nil {
			return weir.Answer{}, err
		}
		if reply.what == done {
			reply.rest = read(next)
			l.heard(reply)
			return a, nil
		}
		l.heard(reply)
		if attempt == maxAttempts || time.Now().After(until) {
			return weir.Answer{}, fmt.Errorf("%w: others changed the state of the key under each of %d attempts", weir.ErrRequest, attempt)
		}
		found = &reply
		// The first failure needs no pause: the state may have been read long before this turn.
		if attempt > 1 {
			longest := min(100*time.Microsecond<<min(attempt-1, 8), 10*time.Millisecond)
			select {
			case <-time.After(rand.N(longest)):
			case <-ctx.Done():
				return weir.Answer{}, fmt.Errorf("%w: %w", weir.ErrRequest, ctx.Err())
			}
			if longest > time.Millisecond {
				found = nil // probably out of date by now
			}
		}
		attempt++
	}
}

// timeTo returns the time to a deadline, and is above 0.
func timeTo(deadline time.Time) time.Duration { return max(time.Until(deadline), 1) }

// lastStart returns the instant at which three quarters of the time to the deadline, or to that of
// ctx, are over. If ctx's deadline is over but ctx has not ended, the deadline is by another clock.
func lastStart(ctx context.Context, deadline time.Time) time.Time {
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) && time.Until(d) > 0 {
		deadline = d
	}
	return deadline.Add(-time.Until(deadline) / 4)
}

// decide decides on the value that was found. It returns the value to keep, or an empty one for
// none, and for how many milliseconds.
func (e *Engine) decide(p *plan, found reply, r weir.Request) (a weir.Answer, next string, life int64, err error) {
	h, err := e.load(p, found.rest.s)
	if err != nil {
		return a, "", 0, err
	}
	rule := h.rule(p)
	// If a state is ahead of the clock, a server with another clock left it. The state goes on by
	// that clock, and recovers as it would have there.
	write := false
	if h.latest-(found.now+h.ahead) > e.skew {
		h.ahead = h.latest - found.now
		write = h.ledger.Plain && h.ledger.By[0].Tag == rule.Tag
	}
	if h.ahead > math.MaxInt64/micro-found.now {
		return a, "", 0, errValue
	}
	now := (found.now + h.ahead) * micro
	ask := r.Ask
	if ask.GrantedAt != 0 {
		ask.GrantedAt += h.ahead * micro
	}
	var changed bool
	if h.ledger, a, changed, err = h.ledger.Decide(rule, now, ask); err != nil {
		return weir.Answer{}, "", 0, fmt.Errorf("%w: %w", errValue, err)
	}
	a.At, a.ServerTime = found.now*micro, true
	if !changed && !write {
		return a, found.rest.s, 0, nil
	}
	switch expiry := h.ledger.Expiry(); {
	case expiry == math.MaxInt64:
	case expiry <= now:
		return a, "", 0, nil
	default:
		life = (expiry-now)/int64(time.Millisecond) + 1
	}
	h.latest = max(h.latest, now/micro)
	return a, h.value(now), life, nil
}
