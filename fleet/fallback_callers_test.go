package fleet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Outages are when a Fallback told that first was away.
type outages struct {
	mu     sync.Mutex
	began  []time.Time
	ended  []time.Time
	failed int
}

func (o *outages) report(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.ended = append(o.ended, time.Now())
	case len(o.began) == len(o.ended):
		o.began = append(o.began, time.Now())
		fallthrough
	default:
		o.failed++
	}
}

// during tells whether there was an outage at any instant from a to b. It is asked when all is
// over: others may be answered at the instant at which one reports, and before it does.
func (o *outages) during(a, b time.Time) bool {
	for i, began := range o.began {
		if !began.After(b) && (i >= len(o.ended) || !o.ended[i].Before(a)) {
			return true
		}
	}
	return false
}

// No caller of these methods waits for longer than the budget, whatever the first store does, and
// however many ask. (Settle, Cancel and a Wait that gives up have a budget after they have waited.)
// Callers are answered without the first store only in an outage that was reported.
//
// There is one exception. Bookings, give-backs and resets of a key take turns in a limiter, and the
// budget holds for all of them together. A call among them may be answered without a first store
// that is slow, but has not failed.
func TestFallback_NobodyWaitsLongerThanTheBudget(t *testing.T) {
	const budget, coolDown = 100 * time.Millisecond, 300 * time.Millisecond
	for name, fault := range map[string]func(*shared, *rand.Rand){
		"hangs, whatever its context":  func(s *shared, _ *rand.Rand) { s.hang() },
		"hangs until its context ends": func(s *shared, _ *rand.Rand) { s.takes.Store(int64(time.Hour)) },
		"is slow":                      func(s *shared, _ *rand.Rand) { s.takes.Store(int64(80 * time.Millisecond)) },
		"is as slow as the budget":     func(s *shared, _ *rand.Rand) { s.hang(); s.takes.Store(int64(budget)) },
		"is slower than the budget":    func(s *shared, _ *rand.Rand) { s.hang(); s.takes.Store(int64(3 * budget)) },
		"fails at once":                func(s *shared, _ *rand.Rand) { s.fail(kit.ErrStore) },
		"fails late":                   func(s *shared, _ *rand.Rand) { s.fail(kit.ErrStore); s.takes.Store(int64(budget / 2)) },
		"fails at the last moment":     func(s *shared, _ *rand.Rand) { s.fail(kit.ErrStore); s.hang(); s.takes.Store(int64(budget)) },
		"changes": func(s *shared, random *rand.Rand) {
			s.takes.Store(int64(time.Duration(random.IntN(3)) * 70 * time.Millisecond))
			s.deaf.Store(random.IntN(2) == 0)
		},
	} {
		for _, meet := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, calls of all kinds meet: %v", name, meet), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					first, told := new(shared), new(outages)
					defer time.Sleep(2 * time.Hour) // until all that hangs has returned
					store := fleet.Fallback(first, new(weir.MemStore), fleet.FallbackOptions{
						Budget: budget, CoolDown: coolDown, MaxInFlight: 100_000, Report: told.report,
					})
					l := weir.Must(weir.New(weir.TokenBucket{Limit: 1e9, Per: time.Second}, weir.WithStore(store)))
					random := rand.New(rand.NewPCG(3, 4))
					var callers sync.WaitGroup
					var degraded atomic.Int64
					var without []answer // first; guarded by told.mu
					over := make(chan struct{})
					for _, call := range fallbackCalls {
						keys, waitsForOthers := call.name, call.name == "Reset"
						if meet {
							keys, waitsForOthers = "key", call.takesTurns
						}
						for i := range runs.Long(12, 4) {
							key := fmt.Sprint(keys, i%3)
							pause := time.Duration(1+random.IntN(runs.Long(30, 60))) * time.Millisecond
							callers.Go(func() {
								for {
									asked := time.Now()
									wasDegraded, err := call.do(l, key)
									if took := time.Since(asked); took > budget {
										assert.LessOrEqual(t, took, budget, call.name)
									}
									if wasDegraded && !waitsForOthers {
										degraded.Add(1)
									}
									if err != nil {
										assert.Contains(t, []string{"Reset", "Return"}, call.name, "the others are answered without first")
									}
									if (wasDegraded || err != nil) && !waitsForOthers {
										told.mu.Lock()
										without = append(without, answer{call.name, asked, time.Now()})
										told.mu.Unlock()
									}
									select {
									case <-over:
										return
									case <-time.After(pause):
									}
								}
							})
						}
					}
					time.Sleep(50 * time.Millisecond)
					synctest.Wait()
					require.Zero(t, degraded.Load(), "before the fault")
					for range runs.Long(10, 2) {
						fault(first, random)
						time.Sleep(coolDown / 2)
					}
					if name == "is slow" {
						assert.Zero(t, told.failed, "slow, but in time")
						assert.Zero(t, degraded.Load())
					} else {
						assert.NotZero(t, degraded.Load())
						assert.NotZero(t, told.failed)
					}
					first.work()
					time.Sleep(2*coolDown + budget)
					told.mu.Lock()
					assert.Len(t, told.ended, len(told.began), "each outage is reported to have ended")
					told.mu.Unlock()
					before := degraded.Load()
					time.Sleep(coolDown)
					close(over)
					callers.Wait()
					for _, a := range without {
						require.True(t, told.during(a.asked, a.told), "%+v", a)
					}
					assert.Equal(t, before, degraded.Load(), "after the end of the fault")
				})
			})
		}
	}
}

type answer struct {
	call        string
	asked, told time.Time
}

// fallbackCalls are all that a limiter asks its store for. They tell if the answer was degraded, as
// far as they can.
var fallbackCalls = []struct {
	name       string
	takesTurns bool
	do         func(l *weir.KeyedLimiter, key string) (degraded bool, err error)
}{
	{"Allow", false, func(l *weir.KeyedLimiter, key string) (bool, error) { return false, orDenied(l.Allow(key)) }},
	{"Take", false, func(l *weir.KeyedLimiter, key string) (bool, error) {
		r, err := l.Take(context.Background(), key, 1)
		return r.Degraded, err
	}},
	{"Take of 7", false, func(l *weir.KeyedLimiter, key string) (bool, error) {
		r, err := l.Take(context.Background(), key, 7)
		return r.Degraded, err
	}},
	{"TakeUpTo", false, func(l *weir.KeyedLimiter, key string) (bool, error) {
		_, r, err := l.TakeUpTo(context.Background(), key, 3)
		return r.Degraded, err
	}},
	{"TakeByComponent", false, func(l *weir.KeyedLimiter, key string) (bool, error) {
		var parts []weir.Result
		r, err := l.TakeByComponent(context.Background(), key, 1, &parts)
		return r.Degraded, err
	}},
	{"Wait", true, func(l *weir.KeyedLimiter, key string) (bool, error) {
		return false, l.Wait(context.Background(), key, 2)
	}},
	{"Reserve", true, func(l *weir.KeyedLimiter, key string) (bool, error) {
		r, err := l.Reserve(context.Background(), key, 2)
		if err != nil {
			return false, err
		}
		return r.Degraded, nil
	}},
	{"Return", true, func(l *weir.KeyedLimiter, key string) (bool, error) {
		return false, l.Return(context.Background(), key, 1)
	}},
	{"Reset", true, func(l *weir.KeyedLimiter, key string) (bool, error) { return false, l.Reset(context.Background(), key) }},
}

func orDenied(allowed bool) error {
	if !allowed {
		return kit.ErrStore
	}
	return nil
}
