package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir"
)

// A row is a policy, and what is asked of a limiter with it.
type row struct {
	name   string
	policy weir.Policy
	calls  calls
}

// calls make n decisions, and return how many were as they must be. Their loop is part of the
// counts.
type calls func(l *weir.KeyedLimiter, keys string, n int) (right int)

// Two rows differ from the others in more than that.
const (
	newKeyRow = "TokenBucket, Allow, new key"        // each key is a new one
	steadyRow = "SlidingLog, Allow, of 1,000 events" // its clock shows a nanosecond more each time
)

const century = 100 * 365 * 24 * time.Hour

// rows are all of them. Those that are granted have so much that none is denied.
var rows = []row{
	{"TokenBucket, Allow", weir.TokenBucket{Limit: 1e8, Per: century}, allowed},
	{"TokenBucket, Allow, denied", weir.TokenBucket{Limit: 1, Per: century}, denied},
	{newKeyRow, weir.TokenBucket{Limit: 1, Per: century}, newKey},
	{"TokenBucket, Take", weir.TokenBucket{Limit: 1e8, Per: century}, taken},
	{"TokenBucket, TakeUpTo", weir.TokenBucket{Limit: 1e8, Per: century}, takenUpTo},
	{"TokenBucket, Wait", weir.TokenBucket{Limit: 1e8, Per: century}, waited},
	{"TokenBucket, Reserve and Cancel", weir.TokenBucket{Limit: 1e8, Per: century}, cancelled},

	{"LeakyBucket, Allow", weir.LeakyBucket{Limit: 1e9, Per: time.Second}, allowed},
	{"LeakyBucket, Allow, denied", weir.LeakyBucket{Limit: 1, Per: century}, denied},
	{"LeakyBucket, Take", weir.LeakyBucket{Limit: 1e9, Per: time.Second}, taken},

	{"FixedWindow, Allow", weir.FixedWindow{Limit: 1e8, Per: century}, allowed},
	{"FixedWindow, Allow, denied", weir.FixedWindow{Limit: 1, Per: century}, denied},
	{"FixedWindow, Take", weir.FixedWindow{Limit: 1e8, Per: century}, taken},
	{"FixedWindow, Reserve and Cancel", weir.FixedWindow{Limit: 1e8, Per: century}, cancelled},

	{"SlidingWindow, Allow", weir.SlidingWindow{Limit: 1e8, Per: century}, allowed},
	{"SlidingWindow, Allow, denied", weir.SlidingWindow{Limit: 1, Per: century}, denied},
	{"SlidingWindow, Take", weir.SlidingWindow{Limit: 1e8, Per: century}, taken},

	// A log remembers each event. That of 1,000 forgets one at each decision.
	{"SlidingLog, Allow", weir.SlidingLog{Limit: 1e8, Per: century}, allowed},
	{steadyRow, weir.SlidingLog{Limit: 1000, Per: 1000}, allowed},
	{"SlidingLog, Allow, denied", weir.SlidingLog{Limit: 1, Per: century}, denied},
	{"SlidingLog, Take", weir.SlidingLog{Limit: 1e8, Per: century}, taken},

	{"CalendarWindow, Allow", weir.CalendarWindow{Limit: 1e8, Unit: weir.Year}, allowed},
	{"All of two, Allow", two, allowed},
	{"All of two, Take", two, taken},
}

var two = weir.All(
	weir.TokenBucket{Limit: 1e8, Per: century},
	weir.FixedWindow{Limit: 1e8, Per: century},
)

// limiter is a new one for the row.
func (r row) limiter() *weir.KeyedLimiter {
	var opts []weir.Option
	if r.name == steadyRow {
		opts = append(opts, weir.WithClock(new(ticks)))
	}
	return weir.Must(weir.New(r.policy, opts...))
}

// ticks is a clock.
type ticks struct{ now int64 }

func (t *ticks) Now() time.Time {
	t.now++
	return time.Unix(0, t.now)
}

func (t *ticks) After(d time.Duration) <-chan time.Time { return time.After(d) }

const keyLen = 16

// keys are those for n decisions: one key, or bytes in which each place starts another.
func (r row) keys(n int) string {
	if r.name != newKeyRow {
		return "0123456789abcdef"
	}
	b := make([]byte, n+keyLen)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // the same each time; it never fails
	return string(b)
}

func allowed(l *weir.KeyedLimiter, key string, n int) (right int) {
	for range n {
		if l.Allow(key) {
			right++
		}
	}
	return right
}

func denied(l *weir.KeyedLimiter, key string, n int) (right int) {
	l.Allow(key)
	for range n {
		if !l.Allow(key) {
			right++
		}
	}
	return right
}

func newKey(l *weir.KeyedLimiter, keys string, n int) (right int) {
	for i := range n {
		if l.Allow(keys[i : i+keyLen]) {
			right++
		}
	}
	return right
}

func taken(l *weir.KeyedLimiter, key string, n int) (right int) {
	ctx := context.Background()
	for range n {
		if r, err := l.Take(ctx, key, 1); err == nil && r.Allowed {
			right++
		}
	}
	return right
}

func takenUpTo(l *weir.KeyedLimiter, key string, n int) (right int) {
	ctx := context.Background()
	for range n {
		if granted, _, err := l.TakeUpTo(ctx, key, 3); err == nil && granted == 3 {
			right++
		}
	}
	return right
}

func waited(l *weir.KeyedLimiter, key string, n int) (right int) {
	ctx := context.Background()
	for range n {
		if l.Wait(ctx, key, 1) == nil {
			right++
		}
	}
	return right
}

func cancelled(l *weir.KeyedLimiter, key string, n int) (right int) {
	ctx := context.Background()
	for range n {
		if r, err := l.Reserve(ctx, key, 1); err == nil && r.Allowed && r.Cancel(ctx) == nil {
			right++
		}
	}
	return right
}
