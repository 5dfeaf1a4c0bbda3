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

// A budget is what a model may be asked for.
type budget struct{ tokens, requests *weir.Keyed }

func newBudget() *budget {
	return &budget{weir.Must(weir.New(tokensAMinute)), weir.Must(weir.New(requestsAMinute))}
}

// A call has its costs booked.
type call struct{ tokens, request *weir.Reservation }

var errRefused = errors.New("no room for the call before the deadline")

// begin books one request and an estimate of its tokens, at the latest for the deadline of ctx. It
// books both or none.
func (b *budget) begin(ctx context.Context, model string, estimate int) (*call, error) {
	request, err := b.requests.Reserve(ctx, model, 1)
	if err != nil {
		return nil, err
	}
	if !request.Allowed {
		return nil, errRefused
	}
	tokens, err := b.tokens.Reserve(ctx, model, estimate)
	if err == nil && !tokens.Allowed {
		err = errRefused
	}
	if err != nil {
		return nil, errors.Join(err, request.Cancel(ctx))
	}
	return &call{tokens, request}, nil
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
