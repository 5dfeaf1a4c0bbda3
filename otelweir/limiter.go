package otelweir

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/outlive"
)

// A Limiter is a [weir.KeyedLimiter] whose decisions are counted. [Metrics.Limiter] makes it. It
// has all methods of the KeyedLimiter, with the same answers. It is safe for concurrent use.
//
// Each call of Allow, Take, TakeUpTo, TakeByComponent, Wait, Reserve or ReserveNow counts as one
// request, if it asks for at least one event. A grant counts even if its events are given back, for
// example because another limit of httplimit denies the request. With a MaxWait of httplimit or a
// similar package, a refused request may count twice as denied, because the package also asks the
// limiter how long the client must wait.
//
// The results are:
//
//   - granted: TakeUpTo has granted at least one event, the other methods all of them.
//   - denied: the limit does not allow the request. This includes the errors [weir.ErrTooLate],
//     [weir.ErrNeverFits] and [weir.ErrQueueFull], and a Wait whose deadline passes before its
//     turn, even if the reason is that the store does not answer.
//   - canceled: the caller has canceled its context, before or during the call. In a client, such
//     as httplimit.Transport, this includes a request that waits for the limiter when the server's
//     Retry-After begins to hold requests back. After the hold, the request asks the limiter again,
//     and counts again.
//   - error: there is no decision for another reason. For example, the store failed, or did not
//     answer a Take before the deadline of the caller.
//
// weir.degraded is true for decisions without the shared store, see [weir.Result.Degraded]. Wait
// does not report this: for its requests weir.degraded is always false.
type Limiter struct {
	*weir.KeyedLimiter
	counters    *counters
	timeInQueue metric.Float64Histogram
}

var _ weir.Limiter = (*Limiter)(nil)

// Limiter returns l with its decisions counted under a name. Use the name that l has from
// [weir.WithName]. Limiters with the same name are counted together. The counts of a name take some
// 4 kB, and are kept as long as the MeterProvider. Limiter panics if l is nil.
//
// Use the returned Limiter in place of l everywhere, also in [weir.Shadow]. It adds about 40 ns to
// a decision of Allow or Take, and no allocation.
func (m *Metrics) Limiter(name string, l *weir.KeyedLimiter) *Limiter {
	if l == nil {
		panic("weir: Metrics.Limiter with a nil KeyedLimiter, must be a KeyedLimiter")
	}
	return &Limiter{l, m.of(name), m.timeInQueue}
}

// Allow implements [weir.Limiter]. It calls Take, which also reports the errors to count.
func (l *Limiter) Allow(key string) bool {
	r, _ := l.Take(context.Background(), key, 1)
	return r.Allowed
}

// Take implements [weir.Limiter].
func (l *Limiter) Take(ctx context.Context, key string, n int) (weir.Result, error) {
	r, err := l.KeyedLimiter.Take(ctx, key, n)
	if n > 0 {
		l.counters.add(resultOf(ctx, r.Allowed, err, false), r.Degraded)
	}
	return r, err
}

// TakeUpTo is [weir.KeyedLimiter.TakeUpTo].
func (l *Limiter) TakeUpTo(ctx context.Context, key string, n int) (int, weir.Result, error) {
	took, r, err := l.KeyedLimiter.TakeUpTo(ctx, key, n)
	if n > 0 {
		l.counters.add(resultOf(ctx, r.Allowed, err, false), r.Degraded)
	}
	return took, r, err
}

// TakeByComponent is [weir.KeyedLimiter.TakeByComponent].
func (l *Limiter) TakeByComponent(
	ctx context.Context, key string, n int, results *[]weir.Result,
) (weir.Result, error) {
	r, err := l.KeyedLimiter.TakeByComponent(ctx, key, n, results)
	if n > 0 {
		l.counters.add(resultOf(ctx, r.Allowed, err, false), r.Degraded)
	}
	return r, err
}

// Reserve is [weir.KeyedLimiter.Reserve].
func (l *Limiter) Reserve(ctx context.Context, key string, n int) (*weir.Reservation, error) {
	r, err := l.KeyedLimiter.Reserve(ctx, key, n)
	if n > 0 {
		l.counters.add(resultOf(ctx, err == nil && r.Allowed, err, false), err == nil && r.Degraded)
	}
	return r, err
}

// ReserveNow is [weir.KeyedLimiter.ReserveNow].
func (l *Limiter) ReserveNow(
	ctx context.Context, key string, n int, r *weir.Reservation, results *[]weir.Result,
) error {
	err := l.KeyedLimiter.ReserveNow(ctx, key, n, r, results)
	if n > 0 {
		l.counters.add(resultOf(ctx, r.Allowed, err, false), r.Degraded)
	}
	return err
}

// Wait implements [weir.Limiter].
func (l *Limiter) Wait(ctx context.Context, key string, n int) error {
	if n <= 0 {
		return l.KeyedLimiter.Wait(ctx, key, n)
	}
	l.counters.waiting.Add(1)
	defer l.counters.waiting.Add(-1) // even if a clock panics
	start := time.Now()
	err := l.KeyedLimiter.Wait(ctx, key, n)
	waited := time.Since(start)
	r := resultOf(ctx, err == nil, err, true)
	l.timeInQueue.Record(ctx, waited.Seconds(), l.counters.waits[r]...)
	l.counters.add(r, false)
	return err
}

// resultOf returns the result of a request, of Wait or of another method.
func resultOf(ctx context.Context, allowed bool, err error, waited bool) result {
	switch {
	case err == nil && allowed:
		return granted
	case err == nil:
		return denied
	case errors.Is(err, weir.ErrTooLate), errors.Is(err, weir.ErrNeverFits), errors.Is(err, weir.ErrQueueFull):
		return denied
	}
	switch {
	case ctx.Err() == nil:
		return failed
	case !outlive.TimedOut(ctx):
		return canceled
	case waited:
		return denied
	}
	return failed
}
