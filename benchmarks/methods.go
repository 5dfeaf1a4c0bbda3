package benchmarks

import (
	"context"

	xrate "golang.org/x/time/rate"

	"github.com/weir-go/weir"
)

// MethodNames are the columns of the table of methods.
var MethodNames = []string{"Allow", "Take", "TakeUpTo", "Wait", "Reserve+Settle", "Reserve+Cancel"}

// MethodMetric names the cost of a method.
func MethodMetric(method string) string { return "M1." + method }

// A method is one way to ask for an event. It reports whether the event was granted at once.
type method func(key string) bool

// Allow implements [Limiter].
func (m method) Allow(key string) bool { return m(key) }

// methodsOf are the methods of a limiter that has more of them than Allow, by MethodNames.
func methodsOf(l Limiter) map[string]method {
	ctx := context.Background()
	switch l := l.(type) {
	case *weir.KeyedLimiter:
		reserved := func(end func(*weir.Reservation) error) method {
			return func(key string) bool {
				r, err := l.Reserve(ctx, key, 1)
				return err == nil && r.Delay() == 0 && end(r) == nil
			}
		}
		return map[string]method{
			"Allow": l.Allow,
			"Take": func(key string) bool {
				r, err := l.Take(ctx, key, 1)
				return err == nil && r.Allowed
			},
			"TakeUpTo": func(key string) bool {
				n, _, err := l.TakeUpTo(ctx, key, 1)
				return err == nil && n == 1
			},
			"Wait":           func(key string) bool { return l.Wait(ctx, key, 1) == nil },
			"Reserve+Settle": reserved(func(r *weir.Reservation) error { return r.Settle(ctx, 1) }),
			"Reserve+Cancel": reserved(func(r *weir.Reservation) error { return r.Cancel(ctx) }),
		}
	case *inXsyncMap[*xrate.Limiter]:
		return map[string]method{
			"Allow": l.Allow,
			"Wait":  func(key string) bool { return l.of(key).Wait(ctx) == nil },
			"Reserve+Cancel": func(key string) bool {
				r := l.of(key).Reserve()
				r.Cancel()
				return r.OK() && r.Delay() == 0
			},
		}
	}
	return nil
}

func hasMethods(c Contender) bool {
	return (c.Only == "" || c.Only == "methods") && c.New != nil && methodsOf(c.New(c.hotQuota())) != nil
}

// measureMethods measures M1: the methods of a limiter, on a key that is known. All are granted at
// once.
func measureMethods(c Contender, s Settings) Metrics {
	m := Metrics{}
	keys := uniform(1)
	for _, name := range MethodNames {
		ask, ok := methodsOf(c.New(c.hotQuota()))[name]
		if !ok {
			continue
		}
		ns, t := throughput(ask, keys, 1, s.Time)
		m[MethodMetric(name)] = ns
		if c.Kind != Paces {
			m.wrong("M1", t.calls-t.allowed, t.calls)
		}
	}
	return m
}
