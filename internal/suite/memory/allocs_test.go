package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// No decision allocates. The log's state grows with the first events, and then no more: what
// has left the window makes room for what comes.
func TestDecisionsDoNotAllocate(t *testing.T) {
	for _, p := range append(kit.AllPolicies(10, 10*time.Second), kit.AllPolicies(7, time.Second)...) {
		for _, ask := range []weir.Ask{
			{},
			{N: 1},
			{N: 3},
			{N: 1, MaxWait: time.Minute},
			{N: -1},
			{N: -1, GrantedAt: kit.T0},
			{N: 1000},
			{N: 3, Mode: weir.UpTo},
			{N: 1, Mode: weir.Regardless},
		} {
			t.Run(fmt.Sprintf("%#v/%+v", p, ask), func(t *testing.T) {
				k, now := kit.NewKey(t, p), kit.T0
				step := int64(333 * time.Millisecond)
				for range 100 { // the log has its size now
					k.Take(now, 1)
					now += step
				}
				assert.Zero(t, kit.AllocsPerRun(1000, func() {
					k.Take(now, 1)
					k.Ask(now, ask)
					now += step
				}))

				word, ok := k.Decider.(weir.WordDecider)
				if !ok {
					return
				}
				state := k.State[0]
				assert.Zero(t, kit.AllocsPerRun(1000, func() {
					state, _ = word.DecideWord(state, now, ask)
					now += step
				}))
			})
		}
	}
}

// Those of a few nanoseconds an event and of sub-nanoseconds, whose states are other.
func TestLargeRatesDoNotAllocate(t *testing.T) {
	for _, p := range kit.AllPolicies(2_000_000_000, time.Second) {
		k, now := kit.NewKey(t, p), kit.T0
		assert.Zero(t, kit.AllocsPerRun(1000, func() {
			k.Take(now, 600_000_000)
			now += int64(time.Second)
		}), "%#v", p)
	}
}

// A log remembers no more than its window holds, and what has left is cut off.
func TestALogStaysSmall(t *testing.T) {
	const limit = 100
	k, now := kit.NewKey(t, weir.SlidingLog{Limit: limit, Per: time.Second}), kit.T0
	for range 100 * limit {
		k.Take(now, 1)
		now += int64(time.Second) / limit
		assert.LessOrEqual(t, len(k.State), 2+limit*4/3+1)
	}
	assert.LessOrEqual(t, cap(k.State), 4*limit)

	now += int64(time.Second)
	k.Take(now, 1)
	assert.Len(t, k.State, 3, "all had left but one")

	k = kit.NewKey(t, weir.SlidingLog{Limit: limit, Per: time.Second})
	for range limit {
		k.Take(kit.T0, 1)
	}
	assert.Len(t, k.State, 4, "events of one instant share an entry")
}
