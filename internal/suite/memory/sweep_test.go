package memory

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Known keys alone also make the store forget the others, whether their states are words or in the
// slab, and whatever they are asked by.
func TestMemStoreForgetsWithoutNewKeys(t *testing.T) {
	ask := map[string]func(l *weir.KeyedLimiter){
		"Allow":    func(l *weir.KeyedLimiter) { l.Allow("the one in use") },
		"Take":     func(l *weir.KeyedLimiter) { _, _ = l.Take(context.Background(), "the one in use", 1) },
		"TakeUpTo": func(l *weir.KeyedLimiter) { _, _, _ = l.TakeUpTo(context.Background(), "the one in use", 1) },
	}
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 1e6},
		weir.TokenBucket{Limit: 999, Per: time.Second, Burst: 1e6},
		weir.SlidingLog{Limit: 1000, Per: time.Second},
		weir.All(weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 1e6}, weir.FixedWindow{Limit: 1e6, Per: time.Second}),
	} {
		for name, ask := range ask {
			t.Run(fmt.Sprintf("%v by %s", p, name), func(t *testing.T) {
				c := new(ticking)
				store := new(weir.MemStore)
				l := weir.Must(weir.New(p, weir.WithClock(c), weir.WithStore(store)))
				keys := runs.Long(3000, 300)
				for i := range keys {
					l.Allow(kit.KeyName(i))
				}
				c.now.Add(int64(time.Hour))
				for range 200 * keys {
					ask(l)
				}
				assert.Less(t, store.Len(), keys/6)
			})
		}
	}
}

// R6: keys that expired less than a second ago stay, also if several policies have counted in them.
// They may not have expired by another limiter's clock.
func TestR6_KeysOfSeveralPoliciesStayForASecond(t *testing.T) {
	ahead, behind := new(ticking), new(ticking)
	store := new(weir.MemStore)
	limiter := func(p weir.Policy, c weir.Clock) *weir.KeyedLimiter {
		return weir.Must(weir.New(p, weir.WithClock(c), weir.WithStore(store), weir.WithName("n")))
	}
	first := limiter(weir.SlidingLog{Limit: 2, Per: time.Second}, ahead)
	second := limiter(weir.TokenBucket{Limit: 2, Per: time.Second}, ahead)
	late := limiter(weir.TokenBucket{Limit: 2, Per: time.Second}, behind)
	behind.now.Store(int64(time.Hour))
	ahead.now.Store(int64(time.Hour + 500*time.Millisecond))
	const keys = 300
	for i := range keys {
		assert.True(t, first.Allow(kit.KeyName(i)))
		assert.True(t, second.Allow(kit.KeyName(i)))
	}
	ahead.now.Add(int64(1200 * time.Millisecond)) // all have expired
	behind.now.Add(int64(1200 * time.Millisecond))
	for range 20 * keys {
		first.Allow("the one in use")
	}
	for i := range keys {
		r, err := late.Take(context.Background(), kit.KeyName(i), 0)
		assert.NoError(t, err)
		assert.Less(t, r.Remaining, 2)
	}
	ahead.now.Add(int64(2 * time.Second))
	for range 50 * keys {
		first.Allow("the one in use")
	}
	assert.Less(t, store.Len(), keys/6)
}

// R6: if a clock has stepped back, another limiter may have seen a later instant on it. The keys of
// a limiter that has not do not expire by that instant.
func TestR6_KeysDoNotExpireByAnInstantThatOnlyAnotherLimiterSaw(t *testing.T) {
	bucket, log := weir.TokenBucket{Limit: 1, Per: time.Minute}, weir.SlidingLog{Limit: 1, Per: time.Minute}
	c := new(ticking)
	store := new(weir.MemStore)
	limiter := func(p weir.Policy) *weir.KeyedLimiter {
		return weir.Must(weir.New(p, weir.WithClock(c), weir.WithStore(store), weir.WithName("n")))
	}
	c.now.Store(int64(2 * time.Hour))
	limiter(bucket).Allow("of before")
	limiter(log).Allow("of before")
	c.now.Store(int64(time.Hour))
	ofBucket, ofLog := limiter(bucket), limiter(log)
	const keys = 300
	for i := range keys {
		assert.True(t, ofBucket.Allow(kit.KeyName(i)))
		assert.True(t, ofLog.Allow(kit.KeyName(keys+i)))
	}
	for range 20 * keys {
		ofBucket.Allow("the one in use")
	}
	for i := range keys {
		assert.False(t, ofBucket.Allow(kit.KeyName(i)))
		assert.False(t, ofLog.Allow(kit.KeyName(keys+i)))
	}
}

// A ticking clock is a microsecond later each time that it is read.
type ticking struct{ now atomic.Int64 }

func (c *ticking) Now() time.Time                       { return time.Unix(0, c.now.Add(int64(time.Microsecond))) }
func (*ticking) After(d time.Duration) <-chan time.Time { return time.After(d) }
