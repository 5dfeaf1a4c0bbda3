package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir"
)

// A row is something that decides. Its start returns what makes n decisions, of which it will be
// asked for no more than most.
type row struct {
	name  string
	start func(most int) (decide func(n int) (right int))
}

// Some rows differ from the others.
const (
	newKeyRow     = "TokenBucket, Allow, new key" // each key is a new one
	middlewareRow = "httplimit, "                 // what they begin with: their start takes long
)

const century = 100 * 365 * 24 * time.Hour

// rows are all of them. Those that are granted have so much that none is denied.
var rows = []row{
	{"TokenBucket, Allow", asks(weir.TokenBucket{Limit: 1e8, Per: century}, allowed)},
	{"TokenBucket, Allow, denied", asks(weir.TokenBucket{Limit: 1, Per: century}, denied)},
	{newKeyRow, newKeys},
	{"TokenBucket, Take", asks(weir.TokenBucket{Limit: 1e8, Per: century}, taken)},
	{"TokenBucket, TakeUpTo", asks(weir.TokenBucket{Limit: 1e8, Per: century}, takenUpTo)},
	{"TokenBucket, Wait", asks(weir.TokenBucket{Limit: 1e8, Per: century}, waited)},
	{"TokenBucket, Reserve and Settle", asks(weir.TokenBucket{Limit: 1e8, Per: century}, settled)},
	{"TokenBucket, Reserve and Cancel", asks(weir.TokenBucket{Limit: 1e8, Per: century}, cancelled)},

	{"LeakyBucket, Allow", asks(weir.LeakyBucket{Limit: 1e9, Per: time.Second}, allowed)},
	{"LeakyBucket, Allow, denied", asks(weir.LeakyBucket{Limit: 1, Per: century}, denied)},
	{"LeakyBucket, Take", asks(weir.LeakyBucket{Limit: 1e9, Per: time.Second}, taken)},

	{"FixedWindow, Allow", asks(weir.FixedWindow{Limit: 1e8, Per: century}, allowed)},
	{"FixedWindow, Allow, denied", asks(weir.FixedWindow{Limit: 1, Per: century}, denied)},
	{"FixedWindow, Take", asks(weir.FixedWindow{Limit: 1e8, Per: century}, taken)},
	{"FixedWindow, Reserve and Cancel", asks(weir.FixedWindow{Limit: 1e8, Per: century}, cancelled)},

	{"SlidingWindow, Allow", asks(weir.SlidingWindow{Limit: 1e8, Per: century}, allowed)},
	{"SlidingWindow, Allow, denied", asks(weir.SlidingWindow{Limit: 1, Per: century}, denied)},
	{"SlidingWindow, Take", asks(weir.SlidingWindow{Limit: 1e8, Per: century}, taken)},

	// A log remembers each event. That of 1,000 forgets one at each decision.
	{"SlidingLog, Allow", asks(weir.SlidingLog{Limit: 1e8, Per: century}, allowed)},
	{"SlidingLog, Allow, of 1,000 events", asks(weir.SlidingLog{Limit: 1000, Per: 1000}, allowed, weir.WithClock(new(ticks)))},
	{"SlidingLog, Allow, denied", asks(weir.SlidingLog{Limit: 1, Per: century}, denied)},
	{"SlidingLog, Take", asks(weir.SlidingLog{Limit: 1e8, Per: century}, taken)},

	{"CalendarWindow, Allow", asks(weir.CalendarWindow{Limit: 1e8, Unit: weir.Year}, allowed)},
	{"All of two, Allow", asks(two, allowed)},
	{"All of two, Take", asks(two, taken)},
	{"All of five, Take", asks(five, taken)},

	// Requests through a middleware, with its fields unless it says otherwise.
	{middlewareRow + "without fields", serves(withoutFields)},
	{middlewareRow + "one limit", serves(oneLimit)},
	{middlewareRow + "three limits", serves(threeLimits)},
}

var two = weir.All(
	weir.TokenBucket{Limit: 1e8, Per: century},
	weir.FixedWindow{Limit: 1e8, Per: century},
)

var five = weir.All(
	weir.TokenBucket{Limit: 1e8, Per: century},
	weir.TokenBucket{Limit: 1e8, Per: century - 1e8},
	weir.TokenBucket{Limit: 1e8, Per: century - 2e8},
	weir.TokenBucket{Limit: 1e8, Per: century - 3e8},
	weir.TokenBucket{Limit: 1e8, Per: century - 4e8},
)

// asks starts calls for one key.
func asks(p weir.Policy, do calls, opts ...weir.Option) func(int) func(int) int {
	return func(int) func(int) int {
		l := weir.Must(weir.New(p, opts...))
		return func(n int) int { return do(l, "0123456789abcdef", n) }
	}
}

// ticks is a clock that shows a nanosecond more each time.
type ticks struct{ now int64 }

func (t *ticks) Now() time.Time {
	t.now++
	return time.Unix(0, t.now)
}

func (t *ticks) After(d time.Duration) <-chan time.Time { return time.After(d) }

// newKeys starts calls for one key each.
func newKeys(most int) func(int) int {
	const length = 16
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: century}))
	keys := make([]byte, most+length)             // each place starts another
	_, _ = rand.NewChaCha8([32]byte{}).Read(keys) // the same each time; it never fails
	all := string(keys)
	return func(n int) (right int) {
		for i := range n {
			if l.Allow(all[i : i+length]) {
				right++
			}
		}
		return right
	}
}

// calls make n decisions on a key, and return how many were as they must be. Their loop is part of
// the counts.
type calls func(l *weir.KeyedLimiter, key string, n int) (right int)

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

func settled(l *weir.KeyedLimiter, key string, n int) (right int) {
	ctx := context.Background()
	for range n {
		if r, err := l.Reserve(ctx, key, 1); err == nil && r.Allowed && r.Settle(ctx, 1) == nil {
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
