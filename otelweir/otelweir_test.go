package otelweir_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/otelweir"
)

var ctx = context.Background()

func newMetrics(t testing.TB) (*otelweir.Metrics, *sdk.ManualReader) {
	reader := sdk.NewManualReader()
	m, err := otelweir.New(sdk.NewMeterProvider(sdk.WithReader(reader)))
	require.NoError(t, err)
	return m, reader
}

// read returns the data points of an instrument as text: attributes, and the number or count.
func read(t testing.TB, reader *sdk.ManualReader, instrument string) map[string]int {
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(ctx, &all))
	points := map[string]int{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != instrument {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					points[text(p.Attributes)] = int(p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					points[text(p.Attributes)] = int(p.Count)
				}
			default:
				t.Errorf("%s is %T", instrument, data)
			}
		}
	}
	return points
}

// requests returns the counts of weir.requests that are not 0.
func requests(t testing.TB, reader *sdk.ManualReader) map[string]int {
	counts := read(t, reader, "weir.requests")
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n == 0 })
	return counts
}

func text(set attribute.Set) string {
	var pairs []string
	for _, kv := range set.ToSlice() {
		pairs = append(pairs, fmt.Sprint(strings.TrimPrefix(string(kv.Key), "weir."), "=", kv.Value.String()))
	}
	return strings.Join(pairs, " ")
}

func TestNew_Faults(t *testing.T) {
	_, err := otelweir.New(nil)
	assert.EqualError(t, err, "weir: otelweir.New(nil), must be a MeterProvider")

	_, err = otelweir.New(refusing{})
	assert.EqualError(t, err, "no weir.requests\nno weir.store.key.limit")
}

// Two packages of a program may each make Metrics on its provider. None hides those of the other.
func TestNew_Twice(t *testing.T) {
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	for _, name := range []string{"first", "second"} {
		m, err := otelweir.New(provider)
		require.NoError(t, err)
		store := &weir.MemStore{MaxKeys: 3}
		m.Keys(name, store)
		for _, limiter := range []string{name, "both"} {
			m.Limiter(limiter, weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: time.Hour}, weir.WithStore(store)))).Allow(limiter)
		}
	}
	for range 2 {
		assert.Equal(t, map[string]int{
			"degraded=false limiter.name=first result=granted":  1,
			"degraded=false limiter.name=second result=granted": 1,
			"degraded=false limiter.name=both result=granted":   2,
		}, requests(t, reader))
		assert.Len(t, read(t, reader, "weir.queued_requests"), 3)
		assert.Equal(t, map[string]int{"store.name=first": 2, "store.name=second": 2}, read(t, reader, "weir.store.key.count"))
		assert.Equal(t, map[string]int{"store.name=first": 3, "store.name=second": 3}, read(t, reader, "weir.store.key.limit"))
	}
}

// refusing is a MeterProvider that refuses some instruments.
type refusing struct{ noop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ noop.Meter }

func (refusingMeter) Int64ObservableCounter(
	name string, _ ...metric.Int64ObservableCounterOption,
) (metric.Int64ObservableCounter, error) {
	return nil, errors.New("no " + name)
}

func (m refusingMeter) Int64ObservableUpDownCounter(
	name string, opts ...metric.Int64ObservableUpDownCounterOption,
) (metric.Int64ObservableUpDownCounter, error) {
	if name == "weir.store.key.limit" {
		return nil, errors.New("no " + name)
	}
	return m.Meter.Int64ObservableUpDownCounter(name, opts...)
}

func TestKeys(t *testing.T) {
	m, reader := newMetrics(t)
	bounded, unbounded := &weir.MemStore{MaxKeys: 3}, new(weir.MemStore)
	m.Keys("bounded", bounded)
	m.Keys("unbounded", unbounded)
	assert.Equal(t, map[string]int{"store.name=bounded": 0, "store.name=unbounded": 0}, read(t, reader, "weir.store.key.count"))

	for _, s := range []weir.Store{bounded, unbounded} {
		l := weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: time.Hour}, weir.WithStore(s)))
		for _, key := range []string{"ada", "bob", "cyd", "dan"} {
			l.Allow(key)
		}
	}
	assert.Equal(t, map[string]int{"store.name=bounded": 3, "store.name=unbounded": 4}, read(t, reader, "weir.store.key.count"))
	assert.Equal(t, map[string]int{"store.name=bounded": 3}, read(t, reader, "weir.store.key.limit"))

	assert.PanicsWithValue(t, "weir: Metrics.Keys with a nil MemStore, must be a MemStore", func() { m.Keys("none", nil) })
}

// A name from a configuration file cannot make an exporter drop all metrics.
func TestNamesAreUTF8(t *testing.T) {
	m, reader := newMetrics(t)
	m.Limiter("a\xffb", weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: time.Hour}))).Allow("ada")
	m.Keys("a\xffb", new(weir.MemStore))
	assert.Equal(t, map[string]int{"degraded=false limiter.name=a\uFFFDb result=granted": 1}, requests(t, reader))
	assert.Equal(t, map[string]int{"store.name=a\uFFFDb": 0}, read(t, reader, "weir.store.key.count"))
}

// No key comes into a metric, whatever is measured.
func TestNoKeys(t *testing.T) {
	m, reader := newMetrics(t)
	memory := new(weir.MemStore)
	m.Keys("memory", memory)
	l := m.Limiter("api", weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(m.Store("store", memory)))))
	past, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancel()
	for range 2 {
		l.Allow("secret")
		_ = l.Wait(past, "secret", 1)
		_, _, _ = l.TakeUpTo(ctx, "secret", 1)
	}
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(ctx, &all))
	data := fmt.Sprintf("%+v", all)
	assert.Contains(t, data, "weir.requests")
	assert.NotContains(t, data, "secret")
}

// The buckets tell apart what is to be told apart: a call that does not wait, and each order of
// magnitude above it.
func TestBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, reader := newMetrics(t)
		l := m.Limiter("api", weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 10})))
		for range 2 {
			require.NoError(t, l.Wait(ctx, "ada", 1))
		}
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(ctx, &all))
		for _, one := range all.ScopeMetrics[0].Metrics {
			if data, ok := one.Data.(metricdata.Histogram[float64]); ok {
				p := data.DataPoints[0]
				assert.Equal(t, 1.0, p.Sum, one.Name)
				assert.EqualValues(t, 1, p.BucketCounts[0], "at once")
				for i, n := range p.BucketCounts[1:] {
					upper := math.Inf(1)
					if i+1 < len(p.Bounds) {
						upper = p.Bounds[i+1]
					}
					assert.Equal(t, p.Bounds[i] < 1 && 1 <= upper, n == 1, "up to %v", upper)
				}
			}
		}
	})
}
