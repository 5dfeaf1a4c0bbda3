package httplimit_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
)

// The decisions are in the context of the handler and of Settle, with those of the Middleware
// around.
func TestDecisions(t *testing.T) {
	limits, limiters, _ := threeLimits(per(9, time.Minute), per(8, time.Minute))
	var settled int
	limits[1].Settle = func(r *http.Request, _ int, _ int64) int {
		settled = len(httplimit.Decisions(r.Context()))
		return 1
	}
	outer, _ := frozen(per(5, time.Minute))
	var got []httplimit.Decision
	h := httplimit.Middleware{Limiter: outer, Key: httplimit.RemoteIP, Headers: httplimit.RateLimit{Name: "outer"}, InContext: true}.Wrap(
		httplimit.Middleware{Limits: limits, InContext: true}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = httplimit.Decisions(r.Context())
		})))
	serve(h, from("192.0.2.1:1", "X-Address", "a", "X-User", "u"))
	require.Len(t, got, 3)
	assert.Equal(t, 3, settled)
	for i, want := range []struct {
		name, key string
		left      int
	}{{"outer", "192.0.2.1", 4}, {"address", "a", 8}, {"user", "u", 7}} {
		assert.Equal(t, want.name, got[i].Name)
		assert.Equal(t, want.key, got[i].Key)
		assert.Equal(t, want.left, got[i].Result.Remaining)
		assert.True(t, got[i].Result.Allowed)
	}
	assert.Empty(t, httplimit.Decisions(context.Background()))
	assert.Equal(t, 8, remaining(t, limiters[0], "a"))
}

// recovering is a limiter that has events again as soon as somebody has looked.
type recovering struct{ *weir.KeyedLimiter }

func (l recovering) Take(ctx context.Context, key string, n int) (weir.Result, error) {
	r, err := l.KeyedLimiter.Take(ctx, key, n)
	r.Remaining = 0
	return r, err
}

// Of a request that is denied, a limit behind may grant an event just after it had none. Observe
// gets the error if that event cannot be given back.
func TestObserve_GiveBackOfALaterLimitFails(t *testing.T) {
	denies, _ := frozen(per(1, time.Minute))
	denies.Allow("one")
	later := weir.Must(weir.New(per(1, time.Minute), weir.WithStore(&keeping{keeps: true})))
	var errs []error
	resp := serve(httplimit.Middleware{
		Limits: []httplimit.Limit{
			{Name: "denies", Limiter: denies, Key: one}, {Name: "later", Limiter: recovering{later}, Key: one},
		},
		Observe: func(_ *http.Request, d httplimit.Decision) {
			if d.Err != nil {
				assert.Equal(t, "later", d.Name)
				errs = append(errs, d.Err)
			}
		},
	}.Wrap(ok), request())
	assert.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Len(t, errs, 1)
	assert.ErrorIs(t, errs[0], errStore)
}

// With InContext, the handler gets a copy of the request. The files of an upload that it has read are
// removed all the same.
func TestInContext_FilesOfUploads(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	m := httplimit.Middleware{Limiter: l, Key: one, InContext: true}
	kit.Upload(t, func(there func()) http.Handler {
		return m.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			assert.NoError(t, r.ParseMultipartForm(1))
			there()
		}))
	})
}
