package httplimit_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// A request whose decision ends in a panic never reaches the handler. What its limits have booked
// is given back, whichever function panics: that of WithPolicyFor, or Observe, which is also told
// if the store of one of them takes nothing back.
func TestR16_PanicBeforeTheHandler(t *testing.T) {
	for _, panics := range []string{"PolicyFor", "Observe", "Observe of an error"} {
		now := false
		policyFor := func(context.Context, string) weir.Policy {
			if now && panics == "PolicyFor" {
				panic(panics)
			}
			return nil
		}
		observe := func(_ *http.Request, d httplimit.Decision) {
			if now && (panics == "Observe" || d.Err != nil) {
				panic(panics)
			}
		}
		cost := 1
		address := &keeping{keeps: panics == "Observe of an error"}
		limits := []httplimit.Limit{
			{Name: "address", Limiter: weir.Must(weir.New(per(5, time.Hour), weir.WithStore(address)))},
			{Name: "user", Limiter: weir.Must(weir.New(per(5, time.Hour)))},
			{
				Name: "all", Limiter: weir.Must(weir.New(per(5, time.Hour), weir.WithPolicyFor(policyFor))),
				Cost: func(*http.Request) int { return cost },
			},
		}
		for i := range limits {
			limits[i].Key, limits[i].Settle = one, func(*http.Request, int, int64) int { return 1 }
		}
		h := httplimit.Middleware{Limits: limits, Observe: observe}.Wrap(ok)
		assert.Equal(t, 200, serve(h, request()).StatusCode)

		if now = true; address.keeps {
			cost = 5 // is denied
		}
		assert.PanicsWithValue(t, panics, func() { serve(h, request()) })
		now = false
		for i, limit := range limits {
			want := 4
			if i == 0 && address.keeps {
				want = 3
			}
			assert.Equal(t, want, remaining(t, limit.Limiter.(*weir.KeyedLimiter), "one"), "%s: %s", panics, limit.Name)
		}
	}
}

// keeping is a store that may fail to take events back.
type keeping struct {
	weir.MemStore
	keeps bool
}

func (s *keeping) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if s.keeps && r.Ask.N < 0 {
		return weir.Answer{}, errStore
	}
	return s.MemStore.Do(ctx, r)
}
