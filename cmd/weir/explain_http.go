package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
	"github.com/weir-go/weir/httplimit"
)

// deniedAnswer returns the status line and the rate limit fields of an answer of httplimit to a
// client that has taken all there is.
func deniedAnswer(p weir.Policy) ([]string, error) {
	limiter, err := weir.New(p, weir.WithClock(stopped{}))
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	for _, n := range explain.Chunks(p) {
		if _, err := limiter.Take(ctx, "a client", n); err != nil {
			return nil, err
		}
	}
	for more := 1; more > 0; { // if there are more than an int can count
		if more, _, err = limiter.TakeUpTo(ctx, "a client", math.MaxInt); err != nil {
			return nil, err
		}
	}
	handler := httplimit.Middleware{
		Limiter: limiter,
		Key:     func(*http.Request) (string, error) { return "a client", nil },
		Headers: httplimit.RateLimit{Policy: p},
	}.Wrap(http.NotFoundHandler())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", nil)
	if err != nil {
		return nil, err
	}
	w := &answer{header: http.Header{}}
	handler.ServeHTTP(w, request)
	lines := []string{fmt.Sprintf("HTTP/1.1 %d %s", w.status, http.StatusText(w.status))}
	var fields bytes.Buffer
	if err := w.header.Write(&fields); err != nil {
		return nil, err
	}
	for field := range strings.Lines(fields.String()) {
		if name, _, _ := strings.Cut(field, ":"); slices.Contains([]string{"Retry-After", "Ratelimit-Policy", "Ratelimit"}, name) {
			field = strings.Replace(field, "Ratelimit", "RateLimit", 1)
			lines = append(lines, strings.TrimSpace(field))
		}
	}
	return lines, nil
}

// stopped is a clock that shows the start of a window of most policies.
type stopped struct{}

func (stopped) Now() time.Time                       { return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) }
func (stopped) After(time.Duration) <-chan time.Time { return nil }

// An answer is an [http.ResponseWriter] that keeps the status and the header.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
