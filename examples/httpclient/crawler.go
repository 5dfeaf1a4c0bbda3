package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// mostTries bounds how often a page is requested if the server asks to come back later.
const mostTries = 4

// A crawler fetches pages. All its workers share one client, and therefore the limits of the hosts.
type crawler struct {
	client   *http.Client
	workers  int
	requests atomic.Int64 // sent so far
}

// newCrawler returns a crawler that sends its requests by base.
func newCrawler(o options, base http.RoundTripper) *crawler {
	c := &crawler{workers: o.workers}
	c.client = &http.Client{
		// This includes the wait. A request whose turn would come later fails at once.
		Timeout: o.timeout,
		Transport: &httplimit.Transport{
			// The queue has room for every worker.
			Limiter: weir.Must(weir.New(weir.LeakyBucket{Limit: o.rate, Per: time.Second, Capacity: o.workers})),
			Base:    counting{base, &c.requests},
		},
	}
	return c
}

// counting counts the requests that are sent.
type counting struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// A result is the outcome for a page.
type result struct {
	url    string
	status int
	size   int64
	err    error // the reason why there is no answer
}

// fetch fetches all urls, and sends each result as soon as it is known. If ctx ends, the requests
// in flight fail, and the rest is left out.
func (c *crawler) fetch(ctx context.Context, urls []string) <-chan result {
	todo, done := make(chan string), make(chan result)
	go func() {
		defer close(todo)
		for _, u := range urls {
			todo <- u
		}
	}()
	var workers sync.WaitGroup
	for range min(c.workers, len(urls)) {
		workers.Go(func() {
			for u := range todo {
				if ctx.Err() == nil {
					done <- c.page(ctx, u)
				}
			}
		})
	}
	go func() {
		workers.Wait()
		close(done)
	}()
	return done
}

// page fetches a page. If the server asks to come back later, it requests the page again. The
// client's transport delays that request.
func (c *crawler) page(ctx context.Context, page string) result {
	f := result{url: page}
	for try := 1; ; try++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			f.err = err
			return f
		}
		req.Header.Set("User-Agent", "weir-example")
		resp, err := c.client.Do(req)
		if err != nil {
			f.err = err
			return f
		}
		f.status = resp.StatusCode
		f.size, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			f.err = &url.Error{Op: "Get", URL: page, Err: err}
			return f
		}
		if try == mostTries || !comeBack(resp) {
			return f
		}
	}
}

// comeBack reports whether the server asks to come back later.
func comeBack(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return resp.Header.Get("Retry-After") != ""
	}
	return false
}
