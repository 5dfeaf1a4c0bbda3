package otelweir_test

import (
	"context"
	"fmt"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/otelweir"
)

// The metrics of the shared store, of the store that limiters use, and of the keys in memory.
func ExampleMetrics_Store() {
	metrics, err := otelweir.New(sdk.NewMeterProvider())
	if err != nil {
		fmt.Println(err)
		return
	}
	shared := new(weir.MemStore) // a store of module redisstore, in a service
	memory := &weir.MemStore{MaxKeys: 1_000_000}
	metrics.Keys("memory", memory)
	store := metrics.Store("limits",
		fleet.Fallback(metrics.Store("redis", shared), memory, fleet.FallbackOptions{}))

	limiter := weir.Must(weir.New(weir.SlidingLog{Limit: 5, Per: time.Minute},
		weir.WithName("login"), weir.WithStore(store)))
	login := metrics.Limiter("login", limiter)
	fmt.Println(login.Allow("192.0.2.1"))
	// Output: true
}

// A service uses its own MeterProvider, which has an exporter in place of the ManualReader.
func Example() {
	reader := sdk.NewManualReader()
	metrics, err := otelweir.New(sdk.NewMeterProvider(sdk.WithReader(reader)))
	if err != nil {
		fmt.Println(err)
		return
	}
	login := metrics.Limiter("login", weir.Must(weir.New(
		weir.SlidingLog{Limit: 5, Per: time.Minute}, weir.WithName("login"))))

	for range 7 {
		login.Allow("192.0.2.1")
	}

	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		fmt.Println(err)
		return
	}
	requests := data.ScopeMetrics[0].Metrics[0]
	fmt.Println(requests.Name)
	for _, p := range requests.Data.(metricdata.Sum[int64]).DataPoints {
		result, _ := p.Attributes.Value("weir.result")
		fmt.Println(result.AsString(), p.Value)
	}
	// Unordered output:
	// weir.requests
	// granted 5
	// denied 2
	// canceled 0
	// error 0
}
