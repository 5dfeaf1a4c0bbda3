package storetest

import (
	"embed"
	"encoding/json"
	"math"
	"path"
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// The files contain sequences of requests with the complete answer to each. The published ones are
// examples from articles, documentation and tests of other limiters. Those of the sample are
// random.
//
//go:embed testdata/published.json testdata/sample.json
var vectorFiles embed.FS

// A vector is a policy, and the requests for one key of it.
type vector struct {
	Name   string `json:"name"`
	Origin int64  `json:"origin_unix_ns"`
	Policy struct {
		Kind      string `json:"kind"`
		Limit     int64  `json:"limit"`
		Per       int64  `json:"per_ns"`
		Burst     int64  `json:"burst"`
		Capacity  int64  `json:"capacity"`
		Buckets   int64  `json:"buckets"`
		FromFirst bool   `json:"from_first"`
	} `json:"policy"`
	Steps []vectorStep `json:"steps"`
}

type vectorStep struct {
	At         int64 `json:"at_ns"`
	N          int64 `json:"n"`
	Allowed    bool  `json:"allowed"`
	Limit      int64 `json:"limit"`
	Remaining  int64 `json:"remaining"`
	RetryAfter int64 `json:"retry_after_ns"`
	ResetAfter int64 `json:"reset_after_ns"`
}

func (s vectorStep) result() weir.Result {
	return weir.Result{
		Allowed:    s.Allowed,
		Limit:      int(s.Limit),
		Remaining:  int(s.Remaining),
		RetryAfter: time.Duration(s.RetryAfter),
		ResetAfter: time.Duration(s.ResetAfter),
	}
}

func (v vector) policy(tb testing.TB) weir.Policy {
	p := v.Policy
	limit, per := int(p.Limit), time.Duration(p.Per)
	switch p.Kind {
	case "TokenBucket":
		return weir.TokenBucket{Limit: limit, Per: per, Burst: int(p.Burst)}
	case "LeakyBucket":
		return weir.LeakyBucket{Limit: limit, Per: per, Capacity: int(p.Capacity)}
	case "FixedWindow":
		return weir.FixedWindow{Limit: limit, Per: per, FromFirst: p.FromFirst}
	case "SlidingWindow":
		return weir.SlidingWindow{Limit: limit, Per: per, Buckets: int(p.Buckets)}
	case "SlidingLog":
		return weir.SlidingLog{Limit: limit, Per: per}
	}
	tb.Fatalf("storetest: vector %q of a policy %q, which there is not", v.Name, p.Kind)
	return nil
}

// fits reports whether all numbers of v fit in an int, which has 32 bits on some machines.
func (v vector) fits() bool {
	largest := max(v.Policy.Limit, v.Policy.Burst, v.Policy.Capacity, v.Policy.Buckets)
	for _, s := range v.Steps {
		largest = max(largest, s.N, s.Limit, s.Remaining)
	}
	return largest <= math.MaxInt
}

func loadVectors(tb testing.TB, file string) []vector {
	data, err := vectorFiles.ReadFile(path.Join("testdata", file))
	if err != nil {
		tb.Fatal(err)
	}
	var vs []vector
	if err := json.Unmarshal(data, &vs); err != nil {
		tb.Fatalf("storetest: %s: %v", file, err)
	}
	return vs
}

// Vectors: every field of every answer is compared, over long sequences of requests through New and
// Take. If a clock is too coarse for the instants of a vector, the expected answers are those of
// the policy at the instants rounded up.
func vectors(e *env) {
	for _, file := range []string{"published.json", "sample.json"} {
		skipped := 0
		for _, v := range loadVectors(e, file) {
			if !v.fits() {
				skipped++
				continue
			}
			e.sub(e.TB, v.Name, func(tb testing.TB) { e.suite.env(tb).vector(v) })
		}
		if skipped > 0 {
			e.Logf("%d vectors of %s are skipped: their numbers don't fit in an int", skipped, file)
		}
	}
}

func (e *env) vector(v vector) {
	p := v.policy(e)
	l, m := e.limiter(p, v.Name), e.model(p)
	rounded := false
	for i, s := range v.Steps {
		exact := time.Unix(0, v.Origin+s.At)
		e.set(exact)
		rounded = rounded || !e.clock.Now().Equal(exact)
		want, by := s.result(), "the vector"
		byModel := m.do("", e.clock.Now(), weir.Ask{N: int(s.N)})
		if rounded {
			want, by = byModel.Result, "the policy at instants rounded up"
		}
		if got := e.take(l, "k", int(s.N)); !e.same(got, want) {
			e.Fatalf("%s: %#v, step %d, at %dns, of %d events:\n got %+v\nwant %+v, by %s",
				policyRule, p, i, s.At, s.N, got, want, by)
		}
	}
}
