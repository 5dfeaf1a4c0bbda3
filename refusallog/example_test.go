package refusallog_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/refusallog"
)

// The refusals of an HTTP server are logged, with the first part of each API key. At most one line
// is written at once here.
func Example() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	refusals, err := refusallog.New(log, "api", refusallog.Options{
		Lines: weir.TokenBucket{Limit: 10, Per: time.Minute, Burst: 1},
		Key:   func(key string) string { return key[:min(len(key), 4)] },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	limit := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Hour}, weir.WithClock(clock.NewMock()))),
		Key:     httplimit.Header("X-API-Key"),
		Observe: func(r *http.Request, d httplimit.Decision) {
			refusals.Refused(r.Context(), weir.Refusal{
				Key: d.Key, N: d.Cost, Result: d.Result, Err: d.Err, Enforced: true,
			})
		},
	}
	handler := limit.Wrap(http.NotFoundHandler())
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-API-Key", "key-of-ada")
	for range 3 {
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	// Output:
	// level=WARN msg="request refused" limiter=api key=key- events=1 limit=1 remaining=0 retry_after=1h0m0s left_out=0
}
