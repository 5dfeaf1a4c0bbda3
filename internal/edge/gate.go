package edge

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir"
)

// The calls of a client go through a Gate, which treats each key separately. A call passes when the
// limiter allows it, and not before the time that the server asked for. The zero value is ready for
// use. It is safe for concurrent use.
type Gate struct {
	held  holds
	lines lines
}

// Hold holds key back for the time after, or does nothing if after is not positive. longest bounds
// the time; 0 means an hour. The hold is prolonged by a random time up to jitter.
func (g *Gate) Hold(key string, after, longest, jitter time.Duration) {
	if after <= 0 {
		return
	}
	after = min(after, cmp.Or(longest, time.Hour))
	if jitter > 0 {
		after += min(rand.N(jitter), weir.Never-after)
	}
	g.held.hold(key, time.Now(), after)
}

// HeldUntil returns the time until which key is held back, or the zero Time if it is not.
func (g *Gate) HeldUntil(key string) time.Time {
	until, _ := g.held.find(key)
	return until
}

// Release ends the hold of key.
func (g *Gate) Release(key string) { g.held.release(key) }

// Pass returns when a call for key may be sent. A turn that comes while the key is held back is
// given up. If such calls kept their turns, they would all be sent at once when the hold ends.
func (g *Gate) Pass(ctx context.Context, l weir.Limiter, key string) error {
	place, inLine := g.lines.arrive(), false
	for {
		if !inLine && (g.held.left(key) > 0 || !g.lines.isEmpty(key)) {
			if err := g.held.inTime(ctx, key); err != nil {
				return heldBack(err)
			}
			g.lines.join(key, place)
			inLine = true
			defer g.lines.leave(key, place)
		}
		if inLine {
			if err := g.lines.wait(ctx, place); err != nil {
				return heldBack(err)
			}
		}
		if err := g.held.wait(ctx, key); err != nil {
			return heldBack(err)
		}
		if inLine && !g.lines.isUp(place) { // one who came before has joined the line
			continue
		}
		if err := l.Wait(ctx, key, 1); err != nil {
			return err
		}
		if g.held.left(key) == 0 && (!inLine || g.lines.isUp(place)) {
			return nil
		}
	}
}

func heldBack(err error) error { return fmt.Errorf("weir: held back by the server: %w", err) }
