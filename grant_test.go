package weir_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A store that decides by a clock three days behind, and one that does not report when it decided:
// the limiter counts the delay of a booking from the instant at which it has the answer.
func TestReserve_InstantsThatAreNotOfTheLimitersClock(t *testing.T) {
	p := weir.TokenBucket{Limit: 1, Per: 10 * time.Second}
	for name, change := range map[string]func(*weir.Answer){
		"another clock": func(a *weir.Answer) { a.At, a.ServerTime = a.At-3*int64(24*time.Hour), true },
		"no instant":    func(a *weir.Answer) { a.At = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := new(weir.MemStore)
				l := weir.Must(weir.New(p, weir.WithStore(kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
					a, err := mem.Do(ctx, r)
					change(&a)
					return a, err
				}))))
				kit.Reserve(t, l, 1)
				next := kit.Reserve(t, l, 1)
				assert.Equal(t, 10*time.Second, next.Delay())
				began := time.Now()
				assert.NoError(t, l.Wait(t.Context(), "k", 1))
				assert.Equal(t, 20*time.Second, time.Since(began))
			})
		})
	}
}
