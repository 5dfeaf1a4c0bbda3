package main

import (
	"context"
	"time"

	"github.com/weir-go/weir"
)

// A quota is one line of the contract.
type quota struct {
	limit int
	unit  weir.Unit
}

var contract = []quota{
	{300, weir.Minute},
	{15_750, weir.Hour},
	{300_000, weir.Day},
	{1_500_000, weir.Week},
	{6_000_000, weir.Month},
}

// allOf returns the policy that allows a share, in percent, of each quota.
func allOf(percent int) weir.Policy {
	var parts []weir.Policy
	for _, q := range contract {
		window := weir.CalendarWindow{Limit: q.limit * percent / 100, Unit: q.unit}
		if q.unit == weir.Week {
			window.Start = int(time.Monday)
		}
		parts = append(parts, window)
	}
	return weir.All(parts...)
}

// account is the key: there is one contract.
const account = "sms"

// A gateway sends the messages that its limiters allow to the provider.
type gateway struct {
	clock    *clock
	provider *provider
	all      *weir.KeyedLimiter // the contract
	mailing  *weir.KeyedLimiter // the share of it that the mailing may use
	codes    *arrivals
	left     int // messages of the mailing
	days     *days
}

func newGateway(o options) (*gateway, error) {
	g := &gateway{clock: &clock{now: start}, left: o.mailing, days: new(days)}
	g.provider = newProvider(g.clock)
	g.codes = newArrivals(start, o.codes)
	var err error
	if g.all, err = weir.New(allOf(100), weir.WithClock(g.clock)); err != nil {
		return nil, err
	}
	g.mailing, err = weir.New(allOf(80), weir.WithClock(g.clock))
	return g, err
}

// work sends codes and the mailing until the instant end, or until ctx ends.
func (g *gateway) work(ctx context.Context, end time.Time) error {
	for g.clock.now.Before(end) && ctx.Err() == nil {
		wait, err := g.sendCodes(ctx)
		if err != nil {
			return err
		}
		if g.left > 0 {
			retry, part, err := g.sendBatch(ctx)
			if err != nil {
				return err
			}
			g.days.at(g.clock.now).heldBack(part, min(wait, retry))
			wait = min(wait, retry)
		}
		g.clock.sleep(min(wait, end.Sub(g.clock.now)))
	}
	return ctx.Err()
}

// sendCodes sends the codes that are waiting, and returns how long it is until the next one is due.
func (g *gateway) sendCodes(ctx context.Context) (time.Duration, error) {
	for {
		came := g.codes.next
		if came.After(g.clock.now) {
			return came.Sub(g.clock.now), nil
		}
		r, err := g.all.Take(ctx, account, 1)
		if err != nil || !r.Allowed {
			return r.RetryAfter, err
		}
		g.provider.send(1)
		g.days.at(g.clock.now).code(g.clock.now.Sub(came))
		g.codes.advance()
	}
}

// sendBatch sends as much of the mailing as its limits allow now. If that is nothing, it returns
// how long to wait, and the quota that requires it.
func (g *gateway) sendBatch(ctx context.Context) (retry time.Duration, part int, err error) {
	share, r, err := g.mailing.TakeUpTo(ctx, account, g.left)
	if err != nil || share == 0 {
		return r.RetryAfter, r.DecidedBy, err
	}
	granted, r, err := g.all.TakeUpTo(ctx, account, share)
	if err == nil && granted < share {
		err = g.mailing.Return(ctx, account, share-granted)
	}
	if err != nil {
		return 0, 0, err
	}
	g.provider.send(granted)
	g.days.at(g.clock.now).mailing += granted
	g.left -= granted
	return r.RetryAfter, r.DecidedBy, nil
}
