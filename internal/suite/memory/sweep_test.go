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

// A ticking clock is a microsecond later each time that it is read.
type ticking struct{ now atomic.Int64 }

func (c *ticking) Now() time.Time                       { return time.Unix(0, c.now.Add(int64(time.Microsecond))) }
func (*ticking) After(d time.Duration) <-chan time.Time { return time.After(d) }
