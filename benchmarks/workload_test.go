package benchmarks

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/suite/runs"
)

// TestWorkloads runs each workload with each contender, small, and checks that every decision is as
// it must be: a limiter that denies what it should grant would do less work.
func TestWorkloads(t *testing.T) {
	small := Settings{Time: time.Millisecond, Latency: time.Millisecond, Scale: 1e-5}
	for _, g := range Groups() {
		fits := 0
		for _, c := range Contenders() {
			if !g.Fits(c) {
				continue
			}
			if fits++; c.Name != Leader && fits%runs.Long(1, 5) != 0 {
				continue
			}
			t.Run(g.Name+"/"+c.Name, func(t *testing.T) {
				m := g.Measure(c, small)
				for name, value := range m {
					if strings.HasSuffix(name, Wrong) {
						t.Errorf("%s: %g of the decisions were wrong", name, value)
					}
					if math.IsNaN(value) || math.IsInf(value, 0) {
						t.Errorf("%s is %g", name, value)
					}
				}
				for _, w := range g.Workloads {
					if w == "W3" && c.Kind == Blocks {
						continue
					}
					if !measured(m, w) {
						t.Errorf("nothing was measured of %s", w)
					}
				}
			})
		}
	}
}

// measured tells whether m has a metric of the workload that a measurement can't leave at zero.
func measured(m Metrics, workload string) bool {
	for name, value := range m {
		if strings.HasPrefix(name, workload+".") && value > 0 {
			return true
		}
	}
	return false
}

func TestWant(t *testing.T) {
	c, err := Find(Leader)
	if err != nil {
		t.Fatal(err)
	}
	m := hot(c, Settings{Time: time.Millisecond, Want: map[string]bool{"W2": true}})
	if _, ok := m["W2.ns"]; !ok || len(m) != 1 {
		t.Errorf("W2 alone yields %v", m)
	}
}

func TestKeys(t *testing.T) {
	seen := make(map[string]bool)
	for i := range 10_000 {
		seen[newKey(i)] = true
	}
	if len(seen) != 10_000 {
		t.Errorf("of 10000 keys %d differ", len(seen))
	}

	shuffled := uniform(1000)
	for i := range shuffled {
		if !seen[shuffled.At(i)] {
			t.Fatalf("%q is not one of the first 1000 keys", shuffled.At(i))
		}
	}
	if !slices.Equal(shuffled, uniform(1000)) {
		t.Error("the order is not the same each time")
	}
	slices.SortFunc(shuffled, func(a, b [keyLen]byte) int { return slices.Compare(a[:], b[:]) })
	if got := len(slices.Compact(shuffled)); got != 1000 {
		t.Errorf("a round of 1000 keys has %d", got)
	}
}

func TestZipf(t *testing.T) {
	counts := make(map[string]int)
	keys := zipf(1000, 100_000)
	for i := range keys {
		counts[keys.At(i)]++
	}
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	// The hottest of 1000 has the share 1 / (1^-1.1 + … + 1000^-1.1) = 0.18.
	if most < 15_000 || most > 21_000 {
		t.Errorf("the hottest of 1000 keys has %d of 100000 draws", most)
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	for ns := range uint64(1000) {
		h.add(ns)
	}
	for _, c := range []struct{ q, want float64 }{{0, 0}, {.05, 50}, {.5, 500}, {.99, 990}, {.999, 999}} {
		if got := h.quantile(c.q); math.Abs(got-c.want) > c.want/32 {
			t.Errorf("the quantile %g of 0…999 is %g", c.q, got)
		}
	}
	if h.max != 999 {
		t.Errorf("the most of 0…999 is %d", h.max)
	}

	var o histogram
	o.add(math.MaxInt64)
	h.merge(&o)
	if got := h.quantile(1); h.max != math.MaxInt64 || math.Abs(got/math.MaxInt64-1) > 1./32 {
		t.Errorf("merged with the longest duration, the most is %d and %g", h.max, got)
	}
}

func TestBuckets(t *testing.T) {
	previous := -1
	for ns := uint64(0); ns < 1<<62; ns += ns/64 + 1 {
		b := bucket(ns)
		if b != previous && b != previous+1 {
			t.Fatalf("%d is in the bucket %d, and the one before in %d", ns, b, previous)
		}
		if got := middle(b); math.Abs(got-float64(ns)) > float64(ns)/32 {
			t.Fatalf("the middle of the bucket of %d is %g", ns, got)
		}
		previous = b
	}
}
