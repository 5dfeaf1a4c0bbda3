package test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/otelweir"
)

// page is the guide whose queries are checked.
const page = "../../../docs/operations.md"

// exported are the time series that Prometheus gets: by name, the labels with their values.
type exported map[string]map[string]map[string]bool

// export makes a service do all that is measured, and returns what Prometheus gets.
func export(t *testing.T) exported {
	registry := prometheus.NewRegistry()
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry))
	require.NoError(t, err)
	metrics, err := otelweir.New(metric.NewMeterProvider(metric.WithReader(exporter)))
	require.NoError(t, err)

	shared, memory := new(kit.Faulty), &weir.MemStore{MaxKeys: 100}
	metrics.Keys("memory", memory)
	redis := metrics.Store("redis", shared)
	store := metrics.Store("limits", fleet.Fallback(redis, memory, fleet.FallbackOptions{}))
	policy := weir.SlidingLog{Limit: 1, Per: time.Hour}
	for name, s := range map[string]weir.Store{"bob": redis, "cyd": store} {
		l := metrics.Limiter("login", weir.Must(weir.New(policy, weir.WithStore(s))))
		ctx, cancel := context.WithCancel(context.Background())
		for _, down := range []bool{false, true} {
			shared.Down.Store(down)
			l.Allow("ada") // granted
			l.Allow("ada") // denied
		}
		shared.Down.Store(false)
		cancel()
		assert.ErrorIs(t, l.Wait(ctx, "ada", 1), context.Canceled)
		assert.ErrorIs(t, l.Wait(context.Background(), "ada", 2), weir.ErrNeverFits)
		assert.NoError(t, l.Wait(context.Background(), name, 1))
	}
	for _, err := range []error{weir.ErrRequest, context.Canceled, context.DeadlineExceeded, errors.New("refused")} {
		fails := kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) { return weir.Answer{}, err })
		_, _ = metrics.Store("redis", fails).Do(context.Background(), weir.Request{})
	}

	families, err := registry.Gather()
	require.NoError(t, err)
	series := exported{}
	for _, family := range families {
		names := []string{family.GetName()}
		if family.GetType() == dto.MetricType_HISTOGRAM {
			names = []string{names[0] + "_bucket", names[0] + "_sum", names[0] + "_count"}
		}
		for i, name := range names {
			series[name] = map[string]map[string]bool{}
			if i == 0 && len(names) > 1 {
				series[name]["le"] = map[string]bool{}
			}
			for _, m := range family.GetMetric() {
				for _, label := range m.GetLabel() {
					if series[name][label.GetName()] == nil {
						series[name][label.GetName()] = map[string]bool{}
					}
					series[name][label.GetName()][label.GetValue()] = true
				}
			}
		}
	}
	return series
}

var (
	queries = regexp.MustCompile("(?ms)^```promql\n(.*?)^```$")
	rules   = regexp.MustCompile(`(?m)^ +expr: \|\n((?: {10}.*\n)+)`)

	// A metric with its labels, if there are any, in a query.
	selector = regexp.MustCompile(`\b(weir_\w+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)\s*(=|!=|=~|!~)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// Each query and alert of the page asks for time series that Prometheus gets, by labels that they
// have, with values that occur.
func TestQueries(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var found []string
	for _, pattern := range []*regexp.Regexp{queries, rules} {
		blocks := pattern.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, blocks)
		for _, block := range blocks {
			found = append(found, block[1])
		}
	}
	assert.Equal(t, 3, strings.Count(string(text), "- alert: "))
	assert.Len(t, rules.FindAllString(string(text), -1), 3)

	series := export(t)
	asked := map[string]bool{}
	for _, query := range found {
		labels := map[string]bool{} // that all metrics of the query have
		withoutGroups := grouping.ReplaceAllString(query, "")
		selectors := selector.FindAllStringSubmatch(withoutGroups, -1)
		require.NotEmpty(t, selectors, query)
		for i, s := range selectors {
			name := s[1]
			require.Contains(t, series, name, query)
			asked[name] = true
			for label := range series[name] {
				if i == 0 {
					labels[label] = true
				}
			}
			for label := range labels {
				if series[name][label] == nil {
					delete(labels, label)
				}
			}
			for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
				values := series[name][m[1]]
				require.NotNil(t, values, "%s has no label %s: %s", name, m[1], query)
				if m[3] != "" {
					assert.True(t, values[m[3]], "%s=%q never occurs: %s", m[1], m[3], query)
				}
			}
		}
		for _, by := range grouping.FindAllStringSubmatch(query, -1) {
			for label := range strings.SplitSeq(by[1], ",") {
				assert.True(t, labels[strings.TrimSpace(label)], "not all have the label %s: %s", label, query)
			}
		}
	}
	assert.Len(t, asked, 7, "each metric, and the count of a histogram")
}

// The page names each instrument as OpenTelemetry and as Prometheus know it.
func TestNames(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	source, err := os.ReadFile("../../otelweir.go")
	require.NoError(t, err)
	instruments := regexp.MustCompile(`"(weir\.[\w.]+)", metric.WithUnit`).FindAllStringSubmatch(string(source), -1)
	assert.Len(t, instruments, 6)
	for _, name := range instruments {
		assert.Contains(t, string(text), "| `"+name[1]+"` |")
	}
	for name := range export(t) {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(name, "weir_") {
			assert.True(t, strings.Contains(string(text), "`"+name+"`") || strings.Contains(string(text), "`"+base+"_bucket`"), name)
		}
	}
}
