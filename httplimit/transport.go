package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weir-go/weir"
)

// Transport is an [http.RoundTripper] that keeps to a limit, and to what servers ask for. Before
// each request it waits for the request's turn. If a server answers 429 or 503 with Retry-After,
// every request for the same key is held back until then, whoever sends it.
//
// It never sends a request a second time. If the turn would come after the deadline of the
// request's context, which the Timeout of an [http.Client] sets as well, RoundTrip fails at once
// with an error that wraps [weir.ErrTooLate]; if the context ends while it waits, with an error
// that wraps that of the context. The other errors of [weir.Limiter] are passed on as well: with a
// [weir.LeakyBucket], more requests at once than its Capacity get [weir.ErrQueueFull].
//
// The fields must not be changed after the first request, nor the Transport copied. It is safe for
// concurrent use.
type Transport struct {
	// Limiter decides when requests go. It is needed.
	Limiter weir.Limiter

	// Key finds out whose allowance a request counts for. If nil it is [TargetHost]. If it returns
	// ErrSkip the request goes at once. Other errors are the error of RoundTrip.
	Key KeyFunc

	// Base sends the requests; http.DefaultTransport if nil.
	Base http.RoundTripper

	// MaxHold bounds how long Retry-After can hold requests back; 0 means as long as the server says.
	// If it is below 0 every RoundTrip fails.
	MaxHold time.Duration

	held holds
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	key, err := t.key(req)
	if errors.Is(err, ErrSkip) {
		return t.base().RoundTrip(req)
	}
	if err == nil {
		err = t.turn(req, key)
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as RoundTripper asks for, also on errors
		}
		return nil, err
	}
	resp, err := t.base().RoundTrip(req)
	if err == nil && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable) {
		now := time.Now()
		if after := retryAfter(resp.Header, now); after > 0 {
			if t.MaxHold > 0 {
				after = min(after, t.MaxHold)
			}
			t.held.hold(key, now, after)
		}
	}
	return resp, err
}

// CloseIdleConnections closes those of Base, as [http.Client.CloseIdleConnections] expects of it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func (t *Transport) key(req *http.Request) (string, error) {
	if t.Limiter == nil || t.MaxHold < 0 {
		return "", t.faults()
	}
	find := t.Key
	if find == nil {
		find = TargetHost
	}
	key, err := find(req)
	if err == nil && key == "" {
		err = fmt.Errorf("weir: Transport.Key returned an empty key: %w", ErrNoKey)
	}
	return key, err
}

func (t *Transport) faults() error {
	var errs []error
	if t.Limiter == nil {
		errs = append(errs, errors.New("weir: Transport.Limiter is nil, must be a Limiter"))
	}
	if t.MaxHold < 0 {
		errs = append(errs, fmt.Errorf("weir: Transport.MaxHold is %v, must be at least 0", t.MaxHold))
	}
	return errors.Join(errs...)
}

// turn returns when req may go. A turn that comes while the key is held back is forfeited: if all
// whose turn had come went when the hold ends, they would go at once.
func (t *Transport) turn(req *http.Request, key string) error {
	for {
		if err := t.held.wait(req.Context(), key); err != nil {
			return fmt.Errorf("weir: Transport held back by Retry-After: %w", err)
		}
		if err := t.Limiter.Wait(req.Context(), key, 1); err != nil {
			return err
		}
		if t.held.left(key) == 0 {
			return nil
		}
	}
}
