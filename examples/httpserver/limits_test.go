package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refused checks what every refusal is to have.
func refused(t *testing.T, a answer, name string) {
	t.Helper()
	require.Equal(t, http.StatusTooManyRequests, a.status, a.body)
	assert.Equal(t, "no-store", a.header.Get("Cache-Control"))
	assert.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
	var problem struct {
		Type     string
		Status   int
		Violated []string `json:"violated-policies"`
	}
	require.NoError(t, json.Unmarshal([]byte(a.body), &problem))
	assert.Equal(t, "https://iana.org/assignments/http-problem-types#quota-exceeded", problem.Type)
	assert.Equal(t, http.StatusTooManyRequests, problem.Status)
	assert.Equal(t, []string{name}, problem.Violated)
}

func TestLogin(t *testing.T) {
	t.Parallel()
	s := start(t, "-trust", "127.0.0.0/8")
	from := func(addr string) []string { return []string{"X-Forwarded-For", addr} }

	var first answer
	for i, c := range []struct {
		user, password string
		status         int
	}{
		{"ada", "wrong", http.StatusUnauthorized},
		{"", "", http.StatusUnauthorized},
		{"grace", "lovelace", http.StatusUnauthorized},
		{"ada", strings.Repeat("x", 2000), http.StatusUnauthorized},
		{"ada", "lovelace", http.StatusOK},
	} {
		a := s.login(t, c.user, c.password, from("192.0.2.1")...)
		if i == 0 {
			first = a
		}
		require.Equal(t, c.status, a.status, a.body)
		assert.Equal(t, []limit{{"login", map[string]int64{"q": 5, "w": 60}}}, limits(t, a, "RateLimit-Policy"))
		r, window := onlyLimit(t, a, "login")
		assert.EqualValues(t, 4-i, r)
		assert.EqualValues(t, 60, window)
		assert.Empty(t, a.header.Get("Retry-After"))
	}

	// The sixth is refused, with the good password too, until the first is a minute old.
	a := s.login(t, "ada", "lovelace", from("192.0.2.1")...)
	refused(t, a, "login")
	after := retryAfter(t, a)
	assert.LessOrEqual(t, after, time.Minute)
	assert.GreaterOrEqual(t, after, time.Minute-a.received.Sub(first.sent))
	r, window := onlyLimit(t, a, "login")
	assert.Zero(t, r)
	assert.Equal(t, wholeSeconds(after), window)

	// Other spellings of the address, and what the client says to the left of it, change nothing.
	refused(t, s.login(t, "ada", "lovelace", from("::ffff:192.0.2.1")...), "login")
	refused(t, s.login(t, "ada", "lovelace", from("192.0.2.99, 192.0.2.1")...), "login")

	// Other clients have allowances of their own.
	assert.Equal(t, http.StatusOK, s.login(t, "ada", "lovelace", from("192.0.2.2")...).status)
	assert.Equal(t, http.StatusOK, s.login(t, "ada", "lovelace").status)
}

// Without -trust a client does not choose its address.
func TestForwardedForIsNotBelieved(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i := range 5 {
		a := s.login(t, "ada", "lovelace", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i))
		require.Equal(t, http.StatusOK, a.status)
	}
	refused(t, s.login(t, "ada", "lovelace", "X-Forwarded-For", "192.0.2.9"), "login")
}

func TestAPI(t *testing.T) {
	t.Parallel()
	s := start(t)
	ada := []string{"X-API-Key", "key-of-ada"}

	a := s.get(t, "/api/items?n=3&from=7", ada...)
	require.Equal(t, http.StatusOK, a.status)
	assert.JSONEq(t, `["item 7", "item 8", "item 9"]`, a.body)
	assert.Equal(t, []limit{{"api", map[string]int64{"q": 20, "w": 2}}}, limits(t, a, "RateLimit-Policy"))
	r, window := onlyLimit(t, a, "api")
	assert.EqualValues(t, 17, r)
	assert.EqualValues(t, 1, window) // 3 tokens are earned in 0.3 s

	// More than the bucket ever holds: waiting does not help, and the answer does not say so.
	a = s.get(t, "/api/items?n=21", ada...)
	refused(t, a, "api")
	assert.Empty(t, a.header.Values("Retry-After"))

	for _, query := range []string{"n=0", "n=-1", "n=x", "n=1e3", "n=99999999999999999999", "from=-1", "from=x"} {
		a := s.get(t, "/api/items?"+query, "X-API-Key", "key-of-grace")
		assert.Equal(t, http.StatusBadRequest, a.status, query)
	}
}

// A request that costs the whole bucket is granted once it is full again, as Retry-After says.
func TestAPIRetryAfter(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.get(t, "/api/items?n=20")
	granted := a
	for a.status == http.StatusOK {
		granted, a = a, s.get(t, "/api/items?n=20")
	}
	refused(t, a, "api")
	after := retryAfter(t, a)
	_, window := onlyLimit(t, a, "api")
	assert.Equal(t, wholeSeconds(after), window)
	assert.GreaterOrEqual(t, after, 2*time.Second-a.received.Sub(granted.sent))
	assert.LessOrEqual(t, after, 2*time.Second)

	<-time.After(after)
	a = s.get(t, "/api/items?n=20")
	require.Equal(t, http.StatusOK, a.status)
	r, _ := onlyLimit(t, a, "api")
	assert.Zero(t, r)
}

// Each user has an allowance, and so has each address without a user. A key that is made up gets
// nobody a fresh one.
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, fields := range [][]string{{"X-API-Key", "key-of-ada"}, {"X-API-Key", "key-of-grace"}, nil} {
		a := s.get(t, "/api/items?n=19", fields...)
		require.Equal(t, http.StatusOK, a.status)
		r, _ := onlyLimit(t, a, "api")
		assert.EqualValues(t, 1, r)
	}
	for _, fields := range [][]string{
		{"X-API-Key", "made-up"},
		{"X-API-Key", ""},
		{"X-API-Key", "key-of-ada", "X-API-Key", "made-up"},
		{"X-API-Key", "key-of-ada", "X-API-Key", "key-of-grace"},
	} {
		a := s.get(t, "/api/items", fields...)
		assert.Equal(t, http.StatusUnauthorized, a.status)
		assert.Empty(t, a.header.Values("RateLimit"))
	}
}

// Of 16 that come together one goes at once, six wait, each half a second longer, and the others are
// refused.
func TestReport(t *testing.T) {
	t.Parallel()
	s := start(t)
	answers := make([]answer, 16)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = s.get(t, "/report") })
	}
	wg.Wait()

	var served, denied []answer
	for _, a := range answers {
		if a.status == http.StatusOK {
			served = append(served, a)
			continue
		}
		refused(t, a, "report")
		after := retryAfter(t, a)
		assert.Positive(t, after)
		assert.LessOrEqual(t, after, 4*time.Second) // the queue is full, and is empty by then
		denied = append(denied, a)
	}

	// One more is served for each half second that the last decision came after the first.
	assert.GreaterOrEqual(t, len(served), 7)
	if len(denied) > 0 { // else they took so long to come that there was room for all
		last := slices.MaxFunc(denied, func(a, b answer) int { return a.received.Compare(b.received) })
		assert.LessOrEqual(t, len(served), 7+int(last.received.Sub(began)/(500*time.Millisecond)))
	}

	slices.SortFunc(served, func(a, b answer) int { return a.received.Compare(b.received) })
	for i, a := range served {
		assert.GreaterOrEqual(t, a.received.Sub(began), time.Duration(i)*500*time.Millisecond, "served before its turn")
		assert.Equal(t, []limit{{"report", map[string]int64{"q": 6, "w": 3}}}, limits(t, a, "RateLimit-Policy"))
	}
}

func TestHealthHasNoLimit(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 200 {
		a := s.get(t, "/health")
		require.Equal(t, http.StatusOK, a.status)
		require.Empty(t, a.header.Values("RateLimit"))
		require.Empty(t, a.header.Values("RateLimit-Policy"))
	}
	assert.NotContains(t, s.out.String(), "level=")
}
