package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/edge"
)

// Transport is an [http.RoundTripper] that limits the requests it sends, and obeys the Retry-After
// of servers. Each request waits for its turn before it is sent. By default, if a server answers
// 429 or 503 with Retry-After, further requests for the same key are held back for that time, but
// at most for MaxHold. They are then sent as the Limiter allows, in the order in which they came,
// with few exceptions. With the field Hold, a Transport can also obey other header fields.
//
// Requests that come soon after a hold ends wait behind those that it held back. Requests of both
// kinds get ErrQueueFull only if they come faster than they can be sent, or if other callers fill
// the queue of the Limiter. Only deadlines bound how many requests are held back: give each request
// a deadline. At most 65,536 keys are held back at a time. If nearly as many are held back, the
// hold of one key may end early to make room for another.
//
// Transport never sends a request a second time. An [http.Transport] below it may do that: it
// repeats some requests whose connection breaks before an answer, and the Limiter does not count
// the repetitions.
//
// If the Transport does not pass a request to Base, RoundTrip returns an error of Key, an error
// that names an invalid field, or an error that wraps:
//
//   - [weir.ErrTooLate], if the turn would come after the deadline of the request's context. The
//     Timeout of an [http.Client] sets such a deadline, too. The request fails as soon as the
//     Transport knows this, usually at once.
//   - The error of the context, if the context ends while the request waits. A request behind
//     others gets this error at its deadline if its turn was not known in advance: after a hold, or
//     with a policy that books nothing, such as a [weir.FixedWindow].
//   - The other errors of [weir.Limiter]. For example, if more requests come at once than the
//     Capacity of a [weir.LeakyBucket] allows, the rest get [weir.ErrQueueFull].
//
// Do not change the fields after the first request, and do not copy the Transport. It is safe for
// concurrent use.
type Transport struct {
	// Limiter decides when requests are sent. It is required.
	Limiter weir.Limiter

	// Key returns the key whose allowance a request uses. If nil, it is [TargetHost]. If it returns
	// ErrSkip, the request is sent at once, and its answer holds nothing back. RoundTrip returns any
	// other error of Key, and fails if the key is empty.
	Key KeyFunc

	// Base sends the requests. If nil, it is http.DefaultTransport.
	Base http.RoundTripper

	// Hold returns for how long an answer holds the requests of its key back. 0 means that it does
	// not. If nil, it is [RetryAfter]. [UsedUp] also reads the fields that report that a limit is
	// used up. Hold must not read the body.
	Hold func(*http.Response) time.Duration

	// MaxHold bounds how long an answer can hold requests back. 0 means an hour: a server that asks
	// for a longer hold gets requests again after an hour. Without a bound, a server could stop all
	// requests by mistake, with a Retry-After in the year 9999. If MaxHold is negative, every
	// RoundTrip fails.
	MaxHold time.Duration

	// Jitter prolongs each hold by a random time below Jitter, so that many processes do not come
	// back at the same instant. The prolonged hold may be longer than MaxHold. 0 means no jitter.
	// If Jitter is negative, every RoundTrip fails.
	Jitter time.Duration

	gate edge.Gate
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	key, err := t.key(req)
	if errors.Is(err, ErrSkip) {
		return t.base().RoundTrip(req)
	}
	if err == nil {
		err = t.gate.Pass(req.Context(), t.Limiter, key)
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // http.RoundTripper requires this, also on errors
		}
		return nil, err
	}
	resp, err := t.base().RoundTrip(req)
	if err == nil {
		t.learn(key, resp)
	}
	return resp, err
}

// learn holds the key back for as long as the answer says.
func (t *Transport) learn(key string, resp *http.Response) {
	find := t.Hold
	if find == nil {
		find = RetryAfter
	}
	t.gate.Hold(key, find(resp), t.MaxHold, t.Jitter)
}

// HeldUntil returns the time until which requests for key are held back because of an answer. It
// returns the zero Time if the key is not held back.
func (t *Transport) HeldUntil(key string) time.Time { return t.gate.HeldUntil(key) }

// Release ends the hold of key. The requests that were held back are sent, as the Limiter allows.
// It is for operators who know that the server is ready again.
func (t *Transport) Release(key string) { t.gate.Release(key) }

// CloseIdleConnections calls the method of the same name of Base, if Base has one.
// [http.Client.CloseIdleConnections] calls it.
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
	if edge.NoLimiter(t.Limiter) || t.MaxHold < 0 || t.Jitter < 0 {
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
	if edge.NoLimiter(t.Limiter) {
		errs = append(errs, errors.New("weir: Transport.Limiter is nil, must be a Limiter"))
	}
	if t.MaxHold < 0 {
		errs = append(errs, fmt.Errorf("weir: Transport.MaxHold is %v, must be at least 0", t.MaxHold))
	}
	if t.Jitter < 0 {
		errs = append(errs, fmt.Errorf("weir: Transport.Jitter is %v, must be at least 0", t.Jitter))
	}
	return errors.Join(errs...)
}
