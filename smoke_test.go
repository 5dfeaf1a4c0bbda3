package weir

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

type fake struct{ t time.Time }

func (f *fake) Now() time.Time                         { return f.t }
func (f *fake) After(d time.Duration) <-chan time.Time { return nil }

func TestVectorsSmoke(t *testing.T) {
	for _, f := range []string{"sample", "published"} {
		b, _ := os.ReadFile("../shared/vectors/" + f + ".json")
		var cs []struct {
			Name   string
			Origin int64 `json:"origin_unix_ns"`
			Policy struct {
				Kind            string
				Limit           int
				Per             int64 `json:"per_ns"`
				Burst, Capacity int
				Buckets         int
				FromFirst       bool `json:"from_first"`
			}
			Steps []struct {
				At        int64 `json:"at_ns"`
				N         int
				Allowed   bool
				Limit     int
				Remaining int
				Retry     int64 `json:"retry_after_ns"`
				Reset     int64 `json:"reset_after_ns"`
			}
		}
		if err := json.Unmarshal(b, &cs); err != nil {
			t.Fatal(err)
		}
		for _, c := range cs {
			p := c.Policy
			per := time.Duration(p.Per)
			pol := map[string]Policy{
				"TokenBucket": TokenBucket{p.Limit, per, p.Burst}, "LeakyBucket": LeakyBucket{p.Limit, per, p.Capacity},
				"FixedWindow": FixedWindow{p.Limit, per, p.FromFirst}, "SlidingWindow": SlidingWindow{p.Limit, per, p.Buckets}, "SlidingLog": SlidingLog{p.Limit, per},
			}[p.Kind]
			fc := &fake{}
			l := Must(New(pol, WithClock(fc)))
			t.Logf("%s %T", c.Name, l.scope.Decider)
			for i, s := range c.Steps {
				fc.t = time.Unix(0, c.Origin+s.At)
				r, err := l.Take(context.Background(), "k", s.N)
				want := Result{s.Allowed, s.Limit, s.Remaining, time.Duration(s.Retry), time.Duration(s.Reset)}
				if err != nil || r != want {
					t.Fatalf("%s %+v step %d %+v: got %+v %v", c.Name, pol, i, s, r, err)
				}
			}
		}
	}
}

func TestWaitSmoke(t *testing.T) {
	for _, p := range []Policy{LeakyBucket{1, time.Second, 100}, TokenBucket{1, time.Second, 1}, SlidingLog{1, time.Second}, FixedWindow{1, time.Second, true}} {
		synctest.Test(t, func(t *testing.T) {
			l := Must(New(p))
			start := time.Now()
			for i := range 10 {
				go func() {
					ctx := context.Background()
					if i == 4 {
						var c func()
						ctx, c = context.WithTimeout(ctx, 100*time.Second)
						go func() { time.Sleep(1500 * time.Millisecond); c() }()
					}
					err := l.Wait(ctx, "k", 1)
					t.Logf("%T %d %v %v", p, i, time.Since(start), err)
				}()
				synctest.Wait()
			}
			synctest.Wait()
			time.Sleep(20 * time.Second)
			r, _ := l.Take(context.Background(), "k", 0)
			t.Log(r, len(l.lines.all))
		})
	}
}
