package main

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir"
)

// A minute lasts a second, so that there is something to see.
const minute = time.Second

var (
	tokensAMinute   = weir.TokenBucket{Limit: 90_000, Per: minute, Burst: 15_000}
	requestsAMinute = weir.TokenBucket{Limit: 120, Per: minute, Burst: 20}
)

// A budget limits the tokens and the requests of a model.
type budget struct{ tokens, requests *weir.KeyedLimiter }

// newBudget returns a budget whose tokens are not booked ahead, because All never books ahead. If
// they were, the tokens that a call does not use would be lost once others have booked behind it:
// those others have been given their instants.
func newBudget() *budget {
	return &budget{weir.Must(weir.New(weir.All(tokensAMinute))), weir.Must(weir.New(requestsAMinute))}
}

// A call has its costs booked.
type call struct{ tokens, request *weir.Reservation }

var errRefused = errors.New("no room for the call before the deadline")

// begin books the estimated tokens, as soon as there are enough, and one request, for an instant no
// later than the deadline of ctx. It books both or neither.
func (b *budget) begin(ctx context.Context, model string, estimate int) (*call, error) {
	tokens, err := b.reserveTokens(ctx, model, estimate)
	if err != nil {
		return nil, err
	}
	request, err := b.requests.Reserve(ctx, model, 1)
	if err == nil && !request.Allowed {
		err = errRefused
	}
	if err != nil {
		return nil, errors.Join(err, tokens.Cancel(ctx))
	}
	return &call{tokens, request}, nil
}

func (b *budget) reserveTokens(ctx context.Context, model string, estimate int) (*weir.Reservation, error) {
	for {
		r, err := b.tokens.Reserve(ctx, model, estimate)
		if err != nil || r.Allowed {
			return r, err
		}
		deadline, ok := ctx.Deadline()
		if ok && time.Until(deadline) <= r.RetryAfter || !sleep(ctx, r.RetryAfter) {
			return nil, errRefused
		}
	}
}

// delay is how long from now the call may start.
func (c *call) delay() time.Duration { return max(c.tokens.Delay(), c.request.Delay()) }

// end charges the tokens that it has used. The request stays as it is booked.
func (c *call) end(ctx context.Context, used int) error {
	return errors.Join(c.tokens.Settle(ctx, used), c.request.Settle(ctx, 1))
}

// cancel gives back all that is booked. It does nothing once the call has ended.
func (c *call) cancel(ctx context.Context) error {
	return errors.Join(c.tokens.Cancel(ctx), c.request.Cancel(ctx))
}
