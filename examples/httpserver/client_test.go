package main

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/require"
)

// An answer is what a client got, and when.
type answer struct {
	status         int
	header         http.Header
	body           string
	sent, received time.Time
}

// ask sends a request with header fields, given as name, value, name, value.
func ask(c *http.Client, method, url, body string, fields ...string) (answer, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	a := answer{sent: time.Now()}
	resp, err := c.Do(r)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(resp.Body)
	a.received = time.Now()
	_ = resp.Body.Close()
	a.status, a.header, a.body = resp.StatusCode, resp.Header, string(text)
	return a, err
}

func (s *server) get(t *testing.T, path string, fields ...string) answer {
	t.Helper()
	a, err := ask(http.DefaultClient, http.MethodGet, s.url+path, "", fields...)
	require.NoError(t, err)
	return a
}

func (s *server) login(t *testing.T, user, password string, fields ...string) answer {
	t.Helper()
	body := "user=" + user + "&password=" + password
	a, err := ask(http.DefaultClient, http.MethodPost, s.url+"/login", body, fields...)
	require.NoError(t, err)
	return a
}

// A limit is an item of RateLimit or RateLimit-Policy.
type limit struct {
	name   string
	params map[string]int64
}

// limits are the items of a field, as a library for Structured Fields reads them.
func limits(t *testing.T, a answer, field string) []limit {
	t.Helper()
	list, err := httpsfv.UnmarshalList(a.header.Values(field))
	require.NoError(t, err)
	var ls []limit
	for _, member := range list {
		item := member.(httpsfv.Item)
		l := limit{item.Value.(string), map[string]int64{}}
		for _, name := range item.Params.Names() {
			value, _ := item.Params.Get(name)
			l.params[name] = value.(int64)
		}
		ls = append(ls, l)
	}
	return ls
}

// onlyLimit is the one item that RateLimit has; it must have r and t, and no other parameters.
func onlyLimit(t *testing.T, a answer, name string) (r, window int64) {
	t.Helper()
	ls := limits(t, a, "RateLimit")
	require.Len(t, ls, 1)
	require.Equal(t, name, ls[0].name)
	require.Len(t, ls[0].params, 2)
	return ls[0].params["r"], ls[0].params["t"]
}

// retryAfter reads Retry-After as clients do: seconds, or a date that http.ParseTime takes.
func retryAfter(t *testing.T, a answer) time.Duration {
	t.Helper()
	values := a.header.Values("Retry-After")
	require.Len(t, values, 1)
	if seconds, err := strconv.ParseUint(values[0], 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(values[0])
	require.NoError(t, err)
	return at.Sub(a.received)
}

// wholeSeconds rounds up, as the fields of an answer do.
func wholeSeconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
