package otelweir

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/outlive"
)

// Store returns a store that does what s does, and measures the time of each operation under a
// name. Stores with the same name are measured together. If s is nil, [weir.New] returns an error,
// and so does each Do of the returned store.
//
// If another store is in front of the shared store, measure two stores: the shared store, and the
// store that the limiters use:
//
//	redis := metrics.Store("redis", shared)
//	store := metrics.Store("limits", fleet.Fallback(redis, new(weir.MemStore), opts))
//
// "redis" then shows how long Redis takes, and how often it fails. "limits" shows how long limiters
// wait for an answer, and how many decisions the Fallback makes without Redis (weir.degraded). A
// [weir.QuickStore], such as a fleet.Lease, can make decisions in memory. These decisions are not
// measured here. weir.requests counts them if the limiter is a [Limiter] of this package.
//
// An operation that failed has an error.type:
//
//   - request: the error wraps [weir.ErrRequest]. The store works.
//   - canceled: the caller has canceled its context.
//   - timeout: a deadline of the caller, of the store, or of a connection has passed. The error, or
//     one that it wraps, has a method Timeout that returns true. [context.DeadlineExceeded] and
//     ErrNoReply of the stores of weir have this method.
//   - _OTHER: any other error.
func (m *Metrics) Store(name string, s weir.Store) weir.Store {
	of := storeName(name)
	c := &store{store: s, time: m.storeTime}
	if s == nil {
		c.store = noStore{}
	}
	for o, attrs := range outcomeAttrs {
		c.times[o] = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(append(attrs, of)...))}
	}
	if quick, ok := s.(weir.QuickStore); ok {
		return &quickStore{c, quick}
	}
	return c
}

// An outcome is how an operation of a store ended.
type outcome int

const (
	answered outcome = iota
	answeredAlone
	badRequest
	callerGone
	timedOut
	otherError
	outcomes // how many there are
)

var (
	degradedKey  = attribute.Key("weir.degraded")
	errorTypeKey = attribute.Key("error.type")
	outcomeAttrs = [outcomes][]attribute.KeyValue{
		answered:      {degradedKey.Bool(false)},
		answeredAlone: {degradedKey.Bool(true)},
		badRequest:    {degradedKey.Bool(false), errorTypeKey.String("request")},
		callerGone:    {degradedKey.Bool(false), errorTypeKey.String("canceled")},
		timedOut:      {degradedKey.Bool(false), errorTypeKey.String("timeout")},
		otherError:    {degradedKey.Bool(false), errorTypeKey.String("_OTHER")},
	}
)

type store struct {
	store weir.Store
	time  metric.Float64Histogram
	times [outcomes][]metric.RecordOption
}

// Accept implements [weir.Acceptor].
func (s *store) Accept(l *weir.KeyedLimiter) error { return weir.Accept(s.store, l) }

// Do implements [weir.Store].
func (s *store) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	start := time.Now()
	a, err := s.store.Do(ctx, r)
	took := time.Since(start).Seconds()
	s.time.Record(ctx, took, s.times[outcomeOf(ctx, a, err)]...)
	return a, err
}

// outcomeOf returns the outcome of an operation. After an error the answer has no meaning.
func outcomeOf(ctx context.Context, a weir.Answer, err error) outcome {
	ended := errors.Is(err, context.Canceled) && ctx.Err() != nil // else the store's own client was closed
	switch {
	case err == nil && a.Degraded:
		return answeredAlone
	case err == nil:
		return answered
	case errors.Is(err, weir.ErrRequest):
		return badRequest
	case ended && !outlive.TimedOut(ctx):
		return callerGone
	case ended, isTimeout(err):
		return timedOut
	}
	return otherError
}

// isTimeout reports whether err says that a deadline has passed, of a context, of a store or of a
// connection.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// A quickStore is a store that can decide some requests in memory.
type quickStore struct {
	*store
	quick weir.QuickStore
}

// TakeQuickly implements [weir.QuickStore].
func (s *quickStore) TakeQuickly(p *weir.Plan, key string, n int) (weir.Result, bool) {
	return s.quick.TakeQuickly(p, key, n)
}

// noStore stands for a store that is nil.
type noStore struct{}

var errNoStore = errors.New("weir: Metrics.Store with a nil store, must be a Store")

// Accept implements [weir.Acceptor].
func (noStore) Accept(*weir.KeyedLimiter) error { return errNoStore }

// Do implements [weir.Store].
func (noStore) Do(context.Context, weir.Request) (weir.Answer, error) {
	return weir.Answer{}, errNoStore
}
