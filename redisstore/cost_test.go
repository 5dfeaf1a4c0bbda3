package redisstore

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/hotkey"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/script"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// go-redis itself makes six or seven allocations for a command that is sent alone.
func TestAllocations(t *testing.T) {
	if runs.Race {
		t.Skip("the race detector has pools drop what they hold")
	}
	s := newStore(t, newClient(t, redistest.Single(t).Addr()))
	for name, p := range map[string]weir.Policy{
		"tokens, allowed": weir.TokenBucket{Limit: 1e9, Per: time.Second},
		"tokens, denied":  weir.TokenBucket{Limit: 1, Per: 1000 * time.Hour},
		"queue":           weir.LeakyBucket{Limit: 1e6, Per: time.Second},
		"window":          weir.FixedWindow{Limit: 1e6, Per: time.Second},
		"sliding":         weir.SlidingWindow{Limit: 1e6, Per: time.Second},
		"log":             weir.SlidingLog{Limit: 100, Per: time.Second},
	} {
		l := newLimiter(t, s, p, name)
		l.Allow("key")
		got := testing.AllocsPerRun(500, func() { l.Allow("key") })
		assert.LessOrEqual(t, got, 10.0, name)
		t.Logf("%s: %v allocations", name, got)
	}
}

// The commands of a pipeline cost two allocations, and one for each key.
func TestAllocations_OfAPipeline(t *testing.T) {
	cmds := make([]*remote.Command, 64)
	for i := range cmds {
		cmds[i] = &remote.Command{Call: script.Call{Script: new(script.Script), Key: "weir:1:{name:" + strconv.Itoa(i) + "}"}}
		cmds[i].Args = [4]any{"a", "b", "c"}
	}
	got := testing.AllocsPerRun(100, func() { newCommands(context.Background(), cmds) })
	assert.LessOrEqual(t, got, 2.0+float64(len(cmds)))
}

func BenchmarkAllow(b *testing.B) {
	l := newLimiter(b, newStore(b, newClient(b, redistest.Single(b).Addr())), weir.TokenBucket{Limit: 1e6, Per: time.Second}, "")
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.Allow("key")
		}
	})
}

// A hot key behind a Lease, which seldom asks Redis.
func BenchmarkHotKey(b *testing.B) {
	hotkey.Benchmark(b, newStore(b, newClient(b, redistest.Single(b).Addr())))
}
