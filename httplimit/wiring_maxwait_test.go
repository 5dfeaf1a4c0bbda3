package httplimit_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

func TestWiring_MaxWait(t *testing.T) {
	told := []httplimit.Check{httplimit.CheckMaxWait}
	for _, c := range []struct {
		maxWait, writeTimeout, readTimeout time.Duration
		body                               string
		want                               []httplimit.Check
	}{
		{time.Minute, time.Minute, 0, "", told},
		{time.Minute, time.Hour, 0, "", nil},
		{time.Minute, 0, 0, "", nil},
		{0, time.Minute, time.Minute, "x", nil},
		{time.Minute, 0, time.Minute, "x", told},
		{time.Minute, 0, time.Minute, "", nil},
		{time.Minute, time.Hour, time.Hour, "x", nil},
	} {
		var w warnings
		m := httplimit.Middleware{Limiter: weir.Must(weir.New(roomy)), Key: one, MaxWait: c.maxWait, Warn: w.warn}
		post(t, m.Wrap(ok), c.writeTimeout, c.readTimeout, c.body)
		assert.Equal(t, c.want, w.told, "%+v", c)
	}
}

// post sends a request over a connection to a server with h.
func post(t *testing.T, h http.Handler, writeTimeout, readTimeout time.Duration, body string) {
	s := httptest.NewUnstartedServer(h)
	s.Config.WriteTimeout, s.Config.ReadTimeout = writeTimeout, readTimeout
	s.Start()
	defer s.Close()
	resp, err := s.Client().Post(s.URL, "text/plain", strings.NewReader(body))
	require.NoError(t, err)
	_ = resp.Body.Close()
}

// When a handler that has read the body asks a Checker, the ReadTimeout does not matter any more.
func TestWiring_MaxWaitOfChecker(t *testing.T) {
	for _, c := range []struct {
		writeTimeout, readTimeout time.Duration
		want                      []httplimit.Check
	}{
		{0, time.Minute, nil},
		{time.Minute, 0, []httplimit.Check{httplimit.CheckMaxWait}},
	} {
		var w warnings
		limit := httplimit.Middleware{Limiter: weir.Must(weir.New(roomy)), MaxWait: time.Minute, Warn: w.warn}.Checker()
		post(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			limit.Check(w, r, string(user), 1)
		}), c.writeTimeout, c.readTimeout, "alice")
		assert.Equal(t, c.want, w.told, "%+v", c)
	}
}
