package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// The limits of the service.
var (
	loginPolicy  = weir.SlidingLog{Limit: 5, Per: time.Minute}
	apiPolicy    = weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 20}
	reportPolicy = weir.LeakyBucket{Limit: 2, Per: time.Second, Capacity: 6}
)

// reportWait is longer than the queue of reportPolicy is ever, so that everyone in it has a turn.
const reportWait = 4 * time.Second

// newService returns the service. Its limits are kept in store, and its clients' addresses are what
// clientIP says.
func newService(store weir.Store, clientIP httplimit.KeyFunc, log *slog.Logger) http.Handler {
	limit := func(name string, p weir.Policy, key httplimit.KeyFunc) httplimit.Middleware {
		return httplimit.Middleware{
			Limiter: weir.Must(weir.New(p, weir.WithStore(store), weir.WithName(name))),
			Key:     key,
			Headers: httplimit.RateLimit{Name: name},
			Observe: logDecisions(log, name, clientIP),
		}
	}

	login := limit("login", loginPolicy, clientIP)

	api := limit("api", apiPolicy, httplimit.Or(httplimit.ContextValue(userKey{}), clientIP))
	api.Cost = func(r *http.Request) int {
		n, err := itemCount(r)
		if err != nil {
			return 1 // for the refusal
		}
		return n
	}

	report := limit("report", reportPolicy, httplimit.Everyone)
	report.MaxWait = reportWait

	mux := http.NewServeMux()
	mux.Handle("POST /login", login.Wrap(http.HandlerFunc(serveLogin)))
	mux.Handle("GET /api/items", authenticate(api.Wrap(http.HandlerFunc(serveItems))))
	mux.Handle("GET /report", report.Wrap(http.HandlerFunc(serveReport)))
	mux.HandleFunc("GET /health", serveHealth)
	return mux
}

// logDecisions returns an Observe that logs. It leaves out the key, which in other services may be a
// secret.
func logDecisions(
	log *slog.Logger, limit string, clientIP httplimit.KeyFunc,
) func(*http.Request, httplimit.Decision) {
	return func(r *http.Request, d httplimit.Decision) {
		level, msg := slog.LevelInfo, "allowed"
		switch {
		case errors.Is(d.Err, context.Canceled):
			msg = "client has gone" // while it was held back
		case d.Err != nil:
			level, msg = slog.LevelError, "no decision"
		case !d.Result.Allowed:
			level, msg = slog.LevelWarn, "denied"
		}
		if !log.Enabled(r.Context(), level) {
			return
		}
		client, _ := clientIP(r)
		attrs := []slog.Attr{
			slog.String("limit", limit),
			slog.String("client", client),
			slog.Int("cost", d.Cost),
			slog.Int("remaining", d.Result.Remaining),
		}
		if d.Result.Degraded {
			attrs = append(attrs, slog.Bool("degraded", true)) // by this server's own limits
		}
		if d.Waited > 0 {
			attrs = append(attrs, slog.Duration("waited", d.Waited))
		}
		switch {
		case d.Err != nil:
			attrs = append(attrs, slog.Any("err", d.Err))
		case d.Result.RetryAfter == weir.Never:
			attrs = append(attrs, slog.String("retry_after", "never"))
		case d.Result.RetryAfter > 0:
			attrs = append(attrs, slog.Duration("retry_after", d.Result.RetryAfter))
		}
		log.LogAttrs(r.Context(), level, msg, attrs...)
	}
}
