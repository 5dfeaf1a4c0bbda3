package kit

import (
	"context"
	"strconv"
	"testing"

	"github.com/weir-go/weir"
)

// KeyName is the name of one of many keys.
func KeyName(i int) string { return "key-" + strconv.Itoa(i) }

// NoError ends the test if there is an error.
func NoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("got the error: %v; want none", err)
	}
}

// Take takes n events of the key, or looks if n is zero. An error ends the test.
func Take(t *testing.T, l weir.Limiter, key string, n int) weir.Result {
	r, err := l.Take(context.Background(), key, n)
	if err != nil { // a t.Helper for each call would take longer than the call
		t.Helper()
		t.Fatal(err)
	}
	return r
}

// Reserve reserves n events of the key "k", granted or not. An error ends the test.
func Reserve(t *testing.T, l *weir.KeyedLimiter, n int) *weir.Reservation {
	t.Helper()
	r, err := l.Reserve(context.Background(), "k", n)
	NoError(t, err)
	return r
}

// SetPolicy changes the policy of the limiter. An error ends the test.
func SetPolicy(t *testing.T, l *weir.KeyedLimiter, p weir.Policy) {
	t.Helper()
	NoError(t, l.SetPolicy(context.Background(), p))
}
