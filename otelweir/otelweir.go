// Package otelweir reports the decisions of limiters, and the latency of their stores, as
// OpenTelemetry metrics.
//
//	metrics, err := otelweir.New(otel.GetMeterProvider())
//	…
//	store := metrics.Store("redis", redisStore)
//	limiter := weir.Must(weir.New(policy, weir.WithName("login"), weir.WithStore(store)))
//	login := metrics.Limiter("login", limiter) // use it in place of limiter
//
// The first three names are those of OpenTelemetry's conventions for the rate limiter of ASP.NET
// Core, with weir in place of aspnetcore.rate_limiting. The attributes stand after the colon:
//
//	weir.requests                  counter     decisions: weir.limiter.name, weir.result,
//	                                           weir.degraded
//	weir.request.time_in_queue     histogram   seconds in Wait: weir.limiter.name, weir.result
//	weir.queued_requests           gauge       requests that are in Wait: weir.limiter.name
//	weir.store.operation.duration  histogram   seconds: weir.store.name, weir.degraded, error.type
//	weir.store.key.count           gauge       keys in a MemStore: weir.store.name
//	weir.store.key.limit           gauge       its MaxKeys: weir.store.name
//
// No attribute contains a key. You choose the names of limiters and stores. Each limiter name makes
// up to eight time series of weir.requests, and each series of a histogram has 15 buckets by
// default. Give a name to each kind of limit, and not to each customer, because the SDK drops
// attributes if there are too many combinations.
//
// docs/operations.md says what to watch, with queries and alerts.
package otelweir

import (
	"context"
	"errors"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/weir-go/weir"
)

// The buckets of the histograms, in seconds. A Wait that is granted at once takes less than a
// millisecond, unless the store is slow.
var (
	queueBuckets = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	storeBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
)

// Metrics are the instruments of weir on one MeterProvider. [New] makes them. Metrics are safe for
// concurrent use.
type Metrics struct {
	timeInQueue metric.Float64Histogram
	storeTime   metric.Float64Histogram

	mu       sync.Mutex // guards what follows
	limiters map[string]*counters
	stores   []memStore
}

// A memStore is a store whose keys are counted.
type memStore struct {
	*weir.MemStore
	name metric.ObserveOption
}

// New makes the instruments. One call for a program is enough: all limiters and stores can share
// the Metrics. Several Metrics of one provider, such as those of several packages, report together.
// New fails if provider is nil, or if the provider returns an error.
func New(provider metric.MeterProvider) (*Metrics, error) {
	if provider == nil {
		return nil, errors.New("weir: otelweir.New(nil), must be a MeterProvider")
	}
	meter := provider.Meter("github.com/weir-go/weir/otelweir")
	m := &Metrics{limiters: make(map[string]*counters)}
	var (
		errs                                 [6]error
		requests, queued, keyCount, keyLimit metric.Int64Observable
	)
	requests, errs[0] = meter.Int64ObservableCounter("weir.requests", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that a limiter has decided on."))
	queued, errs[1] = meter.Int64ObservableUpDownCounter("weir.queued_requests", metric.WithUnit("{request}"),
		metric.WithDescription("Requests that wait for their turn."))
	m.timeInQueue, errs[2] = meter.Float64Histogram("weir.request.time_in_queue", metric.WithUnit("s"),
		metric.WithDescription("Time that requests have waited for their turn."),
		metric.WithExplicitBucketBoundaries(queueBuckets...))
	m.storeTime, errs[3] = meter.Float64Histogram("weir.store.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Time that a store has taken to answer."),
		metric.WithExplicitBucketBoundaries(storeBuckets...))
	keyCount, errs[4] = meter.Int64ObservableUpDownCounter("weir.store.key.count", metric.WithUnit("{key}"),
		metric.WithDescription("Keys that a store in memory keeps."))
	keyLimit, errs[5] = meter.Int64ObservableUpDownCounter("weir.store.key.limit", metric.WithUnit("{key}"),
		metric.WithDescription("Keys that a store in memory has room for."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	// The SDK ignores the callbacks in the options of an instrument that exists. A second Metrics
	// on one provider would report nothing.
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, c := range m.limiters {
			c.observe(o, requests, queued)
		}
		for _, s := range m.stores {
			o.ObserveInt64(keyCount, int64(s.Len()), s.name)
			if s.MaxKeys > 0 {
				o.ObserveInt64(keyLimit, int64(s.MaxKeys), s.name)
			}
		}
		return nil
	}, requests, queued, keyCount, keyLimit)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Keys makes m report the number of keys in a [weir.MemStore], and its MaxKeys if that is set. Call
// Keys once for each MemStore: the numbers of all calls with the same name are added up. The
// MeterProvider keeps s alive. Keys panics if s is nil.
//
// Pass the MemStore itself to limiters, without [Metrics.Store], because measuring a decision would
// take longer than the decision.
func (m *Metrics) Keys(name string, s *weir.MemStore) {
	if s == nil {
		panic("weir: Metrics.Keys with a nil MemStore, must be a MemStore")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stores = append(m.stores, memStore{s, metric.WithAttributeSet(attribute.NewSet(storeName(name)))})
}

func limiterName(name string) attribute.KeyValue {
	return attribute.String("weir.limiter.name", valid(name))
}

func storeName(name string) attribute.KeyValue {
	return attribute.String("weir.store.name", valid(name))
}

// valid returns name without bytes that are not valid UTF-8. Such a byte would make an exporter
// drop all metrics.
func valid(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
