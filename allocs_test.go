package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// allocations counts those of f on its second run. (AllocsPerRun rounds an average down; of a
// single run there is nothing to round.)
func allocations(f func()) int { return int(testing.AllocsPerRun(1, f)) }

// allocationsEachTime counts those that f makes each time.
func allocationsEachTime(f func()) int { return int(kit.AllocsPerRun(1, f)) }

// Neither Allow nor Take allocates for a key that the limiter knows: granted, denied or only
// looking. With the limit of 7 all keys have used it up by the second run, so that the log grows no
// more.
func TestKnownKeysDoNotAllocate(t *testing.T) {
	for _, limit := range []int{1, 7, 100_000} {
		for _, p := range kit.AllPolicies(limit, time.Hour) {
			if _, grows := p.(weir.SlidingLog); grows && limit > 7 {
				continue
			}
			t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) {
				k := known(p, 100)
				for _, n := range []int{0, 1, 3, limit + 1} {
					assert.Zero(t, allocationsEachTime(func() { k.askAll(n) }), "asking for %d", n)
				}
			})
		}
	}
}

// Where nobody is in line for a key, Wait does not come to one.
func TestWaitWithoutWaitingDoesNotAllocate(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 100, Per: time.Hour},
		weir.FixedWindow{Limit: 100, Per: 100 * time.Hour, FromFirst: true},
		weir.All(weir.TokenBucket{Limit: 100, Per: time.Hour}, weir.SlidingWindow{Limit: 100, Per: 100 * time.Hour}),
	} {
		l := weir.Must(weir.New(p))
		var err error
		assert.Zero(t, allocationsEachTime(func() { err = errors.Join(err, l.Wait(background, "k", 1)) }), "%v", p)
		assert.NoError(t, err, "%v", p)
	}
}

// askAll asks each key ten times for an event, and ten times for n.
func (k keyed) askAll(n int) {
	for i := range 10 * k.keys.len() {
		key := k.keys.at(i % k.keys.len())
		k.Allow(key)
		_, _ = k.Take(context.Background(), key, n)
	}
}

// A log allocates as it grows, but the longer it is, the more seldom.
func TestLogsGrowInLargerSteps(t *testing.T) {
	least := math.MaxInt
	for tries := 0; least > 20 && tries < 5; tries++ {
		k := known(weir.SlidingLog{Limit: 1_000_000, Per: time.Hour}, 1)
		events := 0
		least = min(least, allocations(func() {
			for range 10_000 {
				k.Allow(k.keys.at(0))
				events++
			}
		}))
		assert.Equal(t, 20_000, events)
	}
	assert.LessOrEqual(t, least, 20, "allocations for the second 10,000 events")
}

func TestReserveNow_Allocations(t *testing.T) {
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1 << 30, Per: time.Second}))
	var r weir.Reservation
	assert.Zero(t, kit.AllocsPerRun(1000, func() { _ = l.ReserveNow(background, "k", 1, &r, nil) }))
}
