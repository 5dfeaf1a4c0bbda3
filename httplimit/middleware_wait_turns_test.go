package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// R18: requests that would have to wait for too long do not take what one before them waits for.
func TestR18_RefusedRequestsDoNotOvertake(t *testing.T) {
	for _, composed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var policy weir.Policy = per(10, 10*time.Second)
			if composed {
				policy = weir.All(policy, per(1000, 10*time.Second))
			}
			l := weir.Must(weir.New(policy))
			_, err := l.Take(context.Background(), "one", 5)
			assert.NoError(t, err)

			limit := func(cost int, maxWait time.Duration) (rt *http.Transport, stop func()) {
				return inMemory(httplimit.Middleware{
					Limiter: l, Key: one, MaxWait: maxWait, Headers: httplimit.RateLimit{Policy: policy},
					Cost: func(*http.Request) int { return cost },
				}.Wrap(ok))
			}
			patient, stop := limit(10, 25*time.Second)
			defer stop()
			hasty, stop := limit(1, time.Second)
			defer stop()

			var status int
			var took time.Duration
			done := make(chan struct{})
			go func() {
				defer close(done)
				start := time.Now()
				resp, _ := do(t, &http.Client{Transport: patient}, "GET", "http://server/")
				status, took = resp.StatusCode, time.Since(start)
			}()
			synctest.Wait()
			for second := range 9 {
				statuses, waited, headers := send(t, hasty, 1)
				assert.Equal(t, 429, statuses[0])
				assert.Zero(t, waited[0])
				assert.Equal(t, fmt.Sprint(9-second), headers[0].Get("Retry-After"), "the key has recovered a second later")
				assert.Contains(t, headers[0].Get("RateLimit"), fmt.Sprintf(";r=0;t=%d", 9-second))
				time.Sleep(time.Second)
			}
			<-done
			assert.Equal(t, 200, status)
			assert.Equal(t, 10*time.Second, took)

			statuses, _, headers := send(t, hasty, 1)
			assert.Equal(t, 429, statuses[0])
			assert.Equal(t, "9", headers[0].Get("Retry-After"))
			assert.Contains(t, headers[0].Get("RateLimit"), ";r=0;t=9")
		})
	}
}

// returning is a limiter that takes back, and notes how many.
type returning struct {
	limiterFunc
	returned *int
	err      error
}

func (r returning) Return(_ context.Context, _ string, n int) error {
	*r.returned += n
	return r.err
}

// R18: what is there by the time the answer is asked for goes back to those who wait.
func TestR18_GrantedAfterAll(t *testing.T) {
	for _, test := range []struct {
		err    error // of Return
		status int
	}{{nil, 429}, {errStore, 200}} {
		asked, returned := 0, 0
		l := limiterFunc(func(int) (weir.Result, error) {
			asked++ // by Wait, by a look, and for all
			return weir.Result{Allowed: asked > 1, Limit: 5, ResetAfter: 3 * time.Second}, nil
		})
		m := httplimit.Middleware{
			Limiter: returning{l, &returned, test.err}, Key: one, MaxWait: time.Second,
			Cost: func(*http.Request) int { return 2 },
		}
		resp := serve(m.Wrap(ok), request())
		assert.Equal(t, test.status, resp.StatusCode)
		assert.Equal(t, 2, returned)
		if resp.StatusCode == 429 {
			assert.Equal(t, "1", resp.Header.Get("Retry-After"))
		}

		asked, m.Limiter = 0, l // which takes nothing back
		assert.Equal(t, 200, serve(m.Wrap(ok), request()).StatusCode)
	}
}

func TestMaxWait_AskForTheAnswerThatFails(t *testing.T) {
	for fails := range 2 {
		asked := 0
		l := limiterFunc(func(int) (weir.Result, error) {
			if asked++; asked == fails+2 {
				return weir.Result{}, errStore
			}
			return weir.Result{}, nil
		})
		m := httplimit.Middleware{Limiter: l, Key: one, MaxWait: time.Second}
		assert.Equal(t, 503, serve(m.Wrap(ok), request()).StatusCode)
	}
}
