package httplimit

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// Middlewares that are made for one request each are noticed when most of them are garbage, once.
// Those that are used again are not.
func TestWiring_LimiterPerRequest(t *testing.T) {
	uses.told.Store(false)
	told := 0
	var unchecked []Check
	use := func(times int) {
		h := Middleware{
			Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 1 << 30, Per: time.Second})), Key: Everyone,
			Warn: func(c Check, _ string) {
				assert.Equal(t, CheckLimiterPerRequest, c)
				told++
			},
			Unchecked: unchecked,
		}.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for range times {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		}
	}
	for range 3 * manyUses {
		use(2)
	}
	require.Zero(t, told)
	unchecked = []Check{CheckLimiterPerRequest}
	uses.once.Store(manyUses)
	use(1)
	require.GreaterOrEqual(t, int(uses.once.Load()), manyUses, "one that leaves the check out does not take the warning")
	require.False(t, uses.told.Load())
	unchecked = nil
	uses.once.Store(0)
	for deadline := time.Now().Add(time.Minute); told == 0; {
		require.True(t, time.Now().Before(deadline), "no warning")
		for range manyUses {
			use(1)
		}
		runtime.GC() // after which the uses are counted, some time
	}
	for range 3 {
		for range manyUses {
			use(1)
		}
		runtime.GC()
	}
	assert.Equal(t, 1, told)
}

// Of two texts that come first at the same time, each is compared with the other.
func TestUniform_OfTwoAtTheSameTime(t *testing.T) {
	for range 20_000 {
		var u uniform
		var both sync.WaitGroup
		var ready atomic.Int32
		for _, text := range []string{"a", "b"} {
			both.Go(func() {
				for ready.Add(1); ready.Load() < 2; runtime.Gosched() {
				}
				u.see(text)
			})
		}
		both.Wait()
		require.True(t, u.differ.Load())
	}
}
