package httplimit

import (
	"context"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/edge"
)

// wait decides on a request that may be held back for maxWait. If tell is set, and the request is
// granted, its Result says what remains.
func (a *asked) wait(ctx context.Context, maxWait time.Duration, tell bool) {
	ask := func(ctx context.Context, n int) (weir.Result, []weir.Result, error) {
		a.ask(ctx, n, false)
		return a.d.Result, a.parts, a.d.Err
	}
	d := &a.d
	d.Result, a.parts, d.Waited, d.Err = edge.Wait(ctx, a.Limiter, d.Key, d.Cost, maxWait, ask, tell)
}
