package waiting

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Beside the key "k", whose callers come and give up, stands the key "control", to which those who
// will give up never come. All else must be the same for both.
func TestCancel_LeavesNoTrace(t *testing.T) {
	const came = "a b c d e f g"
	for _, p := range policiesToWaitFor {
		for _, test := range []struct {
			at     time.Duration
			gaveUp string
		}{
			{500 * ms, "b"},              // the first in line
			{500 * ms, "d"},              // in the middle
			{500 * ms, "g"},              // the last
			{500 * ms, "b c"},            // the first two
			{500 * ms, "f g"},            // the last two
			{500 * ms, "b d f"},          // every other
			{500 * ms, "g e c"},          // from the back
			{500 * ms, "b c d e f g"},    // all
			{2500 * ms, "d"},             // the first, after others were served
			{2500 * ms, "f"},             // in the middle
			{2*time.Second - 1, "c e f"}, // just before the turn
			{1*time.Second + 2, "c d g"}, // just after
		} {
			t.Run(fmt.Sprintf("%T %s give up at %s", p, test.gaveUp, test.at), func(t *testing.T) {
				bubble(t, p, func(c *crowd) {
					var there, control []*visitor
					for name := range strings.FieldsSeq(came) {
						w := c.come(name, 1)
						if strings.Contains(test.gaveUp, name) {
							continue
						}
						there = append(there, w)
						control = append(control, c.comeFor("control", name, 1, context.Background()))
					}
					c.until(test.at)
					for name := range strings.FieldsSeq(test.gaveUp) {
						c.cancel(c.callerNamed(name))
					}
					for at := test.at; at < 9*time.Second; at += 250 * ms {
						c.until(at)
						require.Equal(c.t, c.look("control"), c.look("k"), "at %s", at)
					}
					for i := range there {
						assert.Equal(c.t, control[i].String(), there[i].String())
					}
					for name := range strings.FieldsSeq(test.gaveUp) {
						assert.ErrorIs(c.t, c.callerNamed(name).err, context.Canceled)
					}
				})
			})
		}
	}
}

// callerNamed is the first who came with that name.
func (c *crowd) callerNamed(name string) *visitor {
	for _, w := range c.callers {
		if w.name == name {
			return w
		}
	}
	panic("nobody is named " + name)
}

// Those behind one who gives up its many events move up by all of them, and no more than
// to the instant at which it gave up.
func TestCancel_MovesUpByWhatWasBooked(t *testing.T) {
	bubble(t, weir.TokenBucket{Limit: 10, Per: time.Second}, func(c *crowd) {
		c.come("a", 10)
		c.come("b", 10) // 1 s
		c.come("c", 1)  // 1.1 s
		c.come("d", 5)  // 1.6 s
		c.until(250 * ms)
		c.cancel(c.callers[1])
		c.come("e", 1)
		c.end()
		c.want("a 0s", "b 250ms cancelled", "c 250ms", "d 600ms", "e 700ms")
	})
	bubble(t, weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 30}, func(c *crowd) {
		c.come("a", 10)
		c.come("b", 10) // 1 s
		c.come("c", 1)  // 2 s
		c.come("d", 5)  // 2.1 s
		c.until(250 * ms)
		c.cancel(c.callers[1])
		c.come("e", 1)
		c.end()
		c.want("a 0s", "b 250ms cancelled", "c 1s", "d 1.1s", "e 1.6s")
	})
	bubble(t, weir.SlidingLog{Limit: 10, Per: time.Second}, func(c *crowd) {
		c.come("a", 8)
		c.come("b", 10)
		c.come("c", 1)
		c.come("d", 5)
		c.until(250 * ms)
		c.cancel(c.callers[1])
		c.end()
		c.want("a 0s", "b 250ms cancelled", "c 250ms", "d 1s")
	})
}

// A place that was given back makes room in a full queue.
func TestCancel_MakesRoom(t *testing.T) {
	bubble(t, tenASecond, func(c *crowd) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			c.come(name, 1)
		}
		c.cancel(c.callers[1])
		c.come("f", 1)
		c.come("g", 1)
		c.end()
		c.want("a 0s", "b 0s cancelled", "e 0s queue-full", "g 0s queue-full", "c 100ms", "d 200ms", "f 300ms")
	})
}

// At the very instant of its turn, a caller is granted its events, whether it hears first
// of its turn or of the end of its context. A nanosecond earlier it has given up.
func TestCancel_AtTheTurnIsTooLate(t *testing.T) {
	for _, test := range turns {
		for _, clock := range []weir.Clock{onTime{}, lateTimers{}} {
			bubble(t, test.policy, func(c *crowd) {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(test.turn, cancel)
				c.come("a", 1)
				b := c.comeFor("k", "b", 1, ctx)
				c.end()
				require.Equal(c.t, "b "+test.turn.String(), b.String())
			}, weir.WithClock(clock))
			bubble(t, test.policy, func(c *crowd) {
				c.come("a", 1)
				before := c.look("k")
				b := c.come("b", 1)
				time.AfterFunc(test.turn-1, b.cancel)
				c.until(test.turn - 1)
				require.Equal(c.t, "b "+(test.turn-1).String()+" cancelled", b.String())
				require.Equal(c.t, before.ResetAfter-(test.turn-1), c.look("k").ResetAfter)
			}, weir.WithClock(clock))
		}
	}
}

// onTime is the bubble's clock.
type onTime struct{}

func (onTime) Now() time.Time                         { return time.Now() }
func (onTime) After(d time.Duration) <-chan time.Time { return time.After(d) }

// lateTimers is the bubble's clock, but its timers go off a second late. Everything else that
// happens at that instant is therefore noticed first.
type lateTimers struct{ onTime }

func (lateTimers) After(d time.Duration) <-chan time.Time { return time.After(d + time.Second) }

// Many callers come one after the other, and each gives up. A caller after them is granted as if
// none of them had been there.
func TestCancel_OneAfterTheOther(t *testing.T) {
	for _, p := range policiesToWaitFor {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			for i := range 500 {
				w := c.come(fmt.Sprint(i), 1)
				c.until(time.Duration(i) * ms)
				c.cancel(w)
			}
			w := c.come("last", 1)
			c.end()
			require.NoError(c.t, w.err)
			assert.Equal(c.t, time.Second, w.at.Truncate(10))
		})
	}
}

// storm is how many come at once.
func storm() int { return runs.Long(10_000, 1000) }

// All come at once, and all give up at once.
func TestCancel_StormOfAll(t *testing.T) {
	for _, p := range policiesToWaitFor {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			before := c.look("k")
			ctx, cancel := context.WithCancel(context.Background())
			var stormed atomic.Int64
			for range storm() {
				c.inside.Go(func() {
					if errors.Is(c.l.Wait(ctx, "k", 1), context.Canceled) {
						stormed.Add(1)
					}
				})
			}
			synctest.Wait()
			assert.Zero(c.t, stormed.Load())
			cancel()
			c.inside.Wait()
			assert.EqualValues(c.t, storm(), stormed.Load())
			assert.Zero(c.t, time.Since(c.start))
			assert.Equal(c.t, before, c.look("k"))
			assert.Zero(c.t, linesOf(c.l))
		})
	}
}

// Half of all, drawn by lot, give up at once. The other half are granted without a gap.
func TestCancel_StormOfHalf(t *testing.T) {
	for _, p := range policiesToWaitFor {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			ctx, cancel := context.WithCancel(context.Background())
			lot := rand.New(rand.NewPCG(3, 4))
			var stay []*visitor
			for range storm() / 2 {
				if lot.IntN(2) == 0 {
					stay = append(stay, c.come("stays", 1))
				} else {
					c.comeFor("k", "goes", 1, ctx)
				}
			}
			c.until(500 * ms)
			cancel()
			c.end()
			for i, w := range stay {
				require.NoError(c.t, w.err)
				require.Equal(c.t, time.Duration(i+1)*time.Second, w.at.Truncate(10*time.Microsecond))
			}
		})
	}
}
