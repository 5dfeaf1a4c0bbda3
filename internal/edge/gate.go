package edge

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir"
)

// A Gate holds back the calls of a client. It treats each key separately. A call passes when the
// limiter allows it and its key is not held. The zero value is ready for use. A Gate is safe for
// concurrent use.
type Gate struct {
	held  holds
	lines lines
}

// Hold holds key back for the time after, or does nothing if after is not positive. longest bounds
// the time; 0 means an hour. The hold is prolonged by a random time up to jitter. It never shortens
// an earlier hold of key. If 65,536 keys are held, one of them is released early to make room.
func (g *Gate) Hold(key string, after, longest, jitter time.Duration) {
	if after <= 0 {
		return
	}
	after = min(after, cmp.Or(longest, time.Hour))
	if jitter > 0 {
		after += min(rand.N(jitter), weir.Never-after)
	}
	g.held.hold(key, time.Now(), after)
	g.lines.stop(key)
}

// HeldUntil returns the time until which key is held back, or the zero Time if it is not.
func (g *Gate) HeldUntil(key string) time.Time {
	until, _ := g.held.find(key)
	return until
}

// Release ends the hold of key.
func (g *Gate) Release(key string) { g.held.release(key) }

// Pass returns nil when a call for key may be sent. When a hold begins, the calls that wait for the
// limiter give their places up, and ask again when it ends. A turn that comes all the same is given
// up, too. If such calls kept their turns, they would all be sent at once when the hold ends.
func (g *Gate) Pass(ctx context.Context, l weir.Limiter, key string) error {
	t := g.lines.join(key)
	defer g.lines.leave(key, t)
	for {
		if g.held.left(key) > 0 {
			if err := g.held.inTime(ctx, key); err != nil {
				return heldBack(err)
			}
			g.lines.stop(key)
		}
		if err := g.lines.wait(ctx, key, t); err != nil {
			return heldBack(err)
		}
		if err := g.held.wait(ctx, key); err != nil {
			return heldBack(err)
		}
		if passes, err := g.ask(ctx, l, key, t); passes || err != nil {
			return err
		}
	}
}

// ask waits for the limiter. If the call neither passes nor fails, it must ask again: a hold has
// begun meanwhile.
func (g *Gate) ask(ctx context.Context, l weir.Limiter, key string, t *turn) (passes bool, err error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	if !g.lines.ask(key, t, cancel) {
		return false, nil
	}
	err = l.Wait(&placing{asking, &g.lines, key, t}, key, 1)
	mayPass, stopped := g.lines.asked(key, t)
	switch {
	case err == nil:
		return mayPass && g.held.left(key) == 0, nil
	case stopped: // err may be that of asking, even if ctx has ended
		return false, nil
	}
	return false, err
}

// A placing is the context of a call that asks the limiter, and notes when the call has its place
// there. A limiter does not report that. But if it makes the call wait, it looks at Done after it
// has given the place. If it looks before that too, as when it asks a store over a network, the
// next call may overtake.
type placing struct {
	context.Context
	lines *lines
	key   string
	turn  *turn
}

func (p *placing) Done() <-chan struct{} {
	p.lines.place(p.key, p.turn)
	return p.Context.Done()
}

func heldBack(err error) error { return fmt.Errorf("weir: held back by the server: %w", err) }
