package change

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// The faults that made these rules. Where they are mended nothing is found; WEIR_MODEL_ITEMS=5s
// tells how soon each is found by trials of its policies.
var items = []struct {
	name     string
	bubble   bool
	policies []tree
	rules    []string
}{
	{"1a changes mint", false, several(one(weir.FixedWindow{Limit: 100, Per: time.Hour}), one(weir.FixedWindow{Limit: 1000, Per: time.Hour}), one(weir.TokenBucket{Limit: 1000, Per: time.Hour})), several13},
	{"1b changes mint", false, several(one(weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 100, Per: time.Hour}, Excess: 50}), one(weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 100, Per: time.Hour}})), several13},
	{"1c changes mint", false, several(one(weir.FixedWindow{Limit: 1, Per: time.Hour}), allOf(one(weir.FixedWindow{Limit: 30, Per: time.Hour}), one(weir.SlidingLog{Limit: 3, Per: time.Hour}))), several13},
	{"1d changes mint", false, several(one(weir.CalendarWindow{Limit: 3, Unit: weir.Hour}), tiersOf(one(weir.CalendarWindow{Limit: 3, Unit: weir.Hour}), one(weir.FixedWindow{Limit: 10, Per: time.Hour, FromFirst: true}))), several13},
	{"2 changes shut", false, several(one(weir.FixedWindow{Limit: 100, Per: time.Hour, FromFirst: true}), one(weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: 2}), tiersOf(one(weir.TokenBucket{Limit: 1, Per: time.Hour}), one(weir.FixedWindow{Limit: 1000, Per: time.Hour, FromFirst: true}))), []string{"R14 a change shuts no key"}},
	{"3 cancels of another policy mint", false, several(one(weir.TokenBucket{Limit: 1000, Per: time.Hour}), one(weir.TokenBucket{Limit: 10, Per: time.Hour})), several13},
	{"4a All of two buckets", true, several(allOf(one(weir.TokenBucket{Limit: 2, Per: time.Second}), one(weir.TokenBucket{Limit: 20, Per: time.Second}))), []string{"R18 arrival order", overASpanRule, "R20 All never books ahead"}},
	{"4b spacing", true, several(allOf(one(weir.LeakyBucket{Limit: 10, Per: time.Second}), one(weir.TokenBucket{Limit: 10, Per: time.Second}))), []string{overASpanRule, "R20 All never books ahead"}},
	{"5 cancelled bookings pile up", false, several(one(weir.TokenBucket{Limit: 1, Per: time.Second})), []string{overASpanRule}},
	{"6 the epoch", false, several(one(weir.FixedWindow{Limit: 10, Per: time.Second})), []string{stillCountsRule}},
	{"7a a debt does not bind", false, several(tiersOf(one(weir.TokenBucket{Limit: 10, Per: time.Second}), one(weir.TokenBucket{Limit: 20, Per: time.Second}))), []string{"R19 a debt binds"}},
	{"7b a debt does not bind", false, several(one(weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: time.Second}, Excess: 10})), []string{"R19 a debt binds"}},
	{"8 order", true, several(one(weir.LeakyBucket{Limit: 3, Per: time.Second}), one(weir.FixedWindow{Limit: 3, Per: time.Second}), one(weir.FixedWindow{Limit: 1, Per: time.Second})), []string{"R18 arrival order"}},
	{"9 a line that never empties books nothing", true, several(one(weir.SlidingLog{Limit: 1, Per: time.Second}), one(weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 3})), []string{allBookRule}},
	{"11 Return then Cancel", false, several(one(weir.SlidingLog{Limit: 10, Per: time.Second})), []string{"R16 all given back is as new"}},
}

var several13 = []string{"R13 at one instant", overASpanRule}

func TestItems(t *testing.T) {
	budget, err := time.ParseDuration(os.Getenv("WEIR_MODEL_ITEMS"))
	if err != nil {
		t.Skip("WEIR_MODEL_ITEMS is not set")
	}
	for _, item := range items {
		t.Run(item.name, func(t *testing.T) {
			for _, rule := range item.rules {
				s := &Suite{New: memStore, NoTwins: true, policies: item.policies, t: t, only: rule}
				began := time.Now()
				for n, seed := 1, uint64(1); time.Since(began) < budget; n, seed = n+1, seed+1 {
					trial := drawTrial(seed, item.policies, 1)
					if item.bubble {
						trial = drawBubble(seed, item.policies)
					}
					v, _ := s.fails(trial)
					if v == nil {
						continue
					}
					took := time.Since(began)
					trial, v, answers := s.shrink(trial, v)
					t.Errorf("%s after %d trials, %v: %s\n%s", v.rule, n, took.Round(time.Microsecond), v.why, trial.script(answers))
					break
				}
			}
		})
	}
}

// A store that tells microseconds takes 1 ns after a boundary for the boundary: a trial waits for
// the next of its instants.
func TestATrialWaitsInWholeTicks(t *testing.T) {
	w := newWorld(&Trial{Policies: several(one(weir.SlidingWindow{Limit: 1, Per: time.Hour}))}, &Suite{
		New:   func(weir.Clock) weir.Store { return new(weir.MemStore) },
		Grain: time.Microsecond,
	}, &hand{})
	w.retry = time.Minute + 1
	w.do(Step{Op: opRetry})
	assert.EqualValues(t, time.Minute+time.Microsecond, w.clock.ns)
}
